"""The explorer: look inside representations in the browser. `hackle explore DIR …` serves it."""

from hackle.explorer.server import create_app, serve

__all__ = ["create_app", "serve"]
