"""Pictures of one model: what each latent does, what it says about the factors, and samples from the prior."""

from hackle.core.tiles import Picture, mosaic, to_bytes
from hackle.pictures.captured import Captured, Response, importance, importance_for, nearest_row, response
from hackle.pictures.encoding import data_address, gif_bytes, png_bytes
from hackle.pictures.gallery import Gallery, show
from hackle.pictures.look import SPAN, Axis, Look, PictureError, axes_of
from hackle.pictures.plots import captured_figure, histograms, overview, responses_figure, top_latents_figure
from hackle.pictures.sentence import in_a_sentence
from hackle.pictures.views import (
    animation,
    code_ends,
    code_rows,
    interpolation,
    noise_reconstructions,
    overview_rows,
    pair_map,
    pair_maps,
    reconstructions,
    samples,
    top_latents,
    traversals,
)

__all__ = [
    "SPAN",
    "Axis",
    "Captured",
    "Gallery",
    "Look",
    "Picture",
    "PictureError",
    "Response",
    "animation",
    "axes_of",
    "captured_figure",
    "code_ends",
    "code_rows",
    "data_address",
    "gif_bytes",
    "histograms",
    "importance",
    "importance_for",
    "in_a_sentence",
    "interpolation",
    "mosaic",
    "nearest_row",
    "noise_reconstructions",
    "overview",
    "overview_rows",
    "pair_map",
    "pair_maps",
    "png_bytes",
    "reconstructions",
    "response",
    "responses_figure",
    "samples",
    "show",
    "to_bytes",
    "top_latents",
    "top_latents_figure",
    "traversals",
]
