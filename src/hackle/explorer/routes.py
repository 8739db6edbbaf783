"""The routes of the page's requests. Images are sent as raw bytes, which a canvas takes as they are."""

from __future__ import annotations

import base64
import gzip
import math
import time
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from hackle.core.factors import scored_factors
from hackle.explorer.catalogue import Catalogue
from hackle.explorer.exports import gif_of, png_of, traversal_page
from hackle.explorer.listing import Listing, facts_of
from hackle.explorer.uploads import decode_upload
from hackle.explorer.workbench import Bench, Workbench
from hackle.metrics import dci_from_importance
from hackle.metrics.mig import mig_from_information
from hackle.pictures import mosaic, nearest_row, png_bytes, response

Row = Annotated[list[float], Field(min_length=1, max_length=4096)]
Latents = Annotated[list[Row], Field(min_length=1, max_length=4096)]
FactorRow = Annotated[list[int], Field(min_length=1, max_length=256)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
HISTOGRAM_BINS = 48
MOST_VALUES = 2000
THUMBNAIL_LATENTS, THUMBNAIL_COLUMNS, THUMBNAIL_SIDE, THUMBNAIL_GAP = 3, 4, 28, 6


class Question(BaseModel):
    """A request's body, with no unexpected fields."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Decode(Question):
    z: Latents


class Start(Question):
    """Images by seed, `count` of them, or the image of a factor row."""

    seed: Seed | None = None
    count: Annotated[int, Field(ge=1, le=48)] = 1
    row: FactorRow | None = None


class Vary(Question):
    row: FactorRow
    factor: Annotated[int, Field(ge=0, lt=256)]


class Export(Question):
    """Latents of the images in reading order: frames, then rows, then columns."""

    format: Literal["png", "gif", "html"]
    z: Latents
    rows: Annotated[int, Field(ge=1, le=256)] = 1
    columns: Annotated[int, Field(ge=1, le=256)] = 1
    milliseconds: Annotated[int, Field(ge=20, le=2000)] = 80


def _finite(values: NDArray[Any]) -> list[Any]:
    """An array as nested lists, with None for what is not finite."""
    rounded = np.round(np.asarray(values, np.float64), 5)
    if rounded.ndim > 1:
        return [_finite(part) for part in rounded]
    return [value if math.isfinite(value) else None for value in rounded.tolist()]


def _text(images: NDArray[np.uint8]) -> str:
    return base64.b64encode(np.ascontiguousarray(images).tobytes()).decode()


def _raw(images: NDArray[np.uint8]) -> Response:
    shape = ",".join(str(size) for size in images.shape)
    headers = {"X-Shape": shape, "Cache-Control": "no-store"}
    return Response(np.ascontiguousarray(images).tobytes(), media_type="application/octet-stream", headers=headers)


def _histogram(bench: Bench, draws: NDArray[np.float32], code: int) -> list[float]:
    """Shares of q(z) in equal bins over the slider's range, or of images in each class."""
    axis = bench.axes[code]
    if axis.prior == "categorical":
        counts = np.bincount(bench.look.means[:, code].astype(int), minlength=axis.classes)
    else:
        counts, _ = np.histogram(draws[:, code], HISTOGRAM_BINS, bench.look.reach[code])
    return [round(float(share), 5) for share in counts / len(draws)]


def _latents(bench: Bench) -> list[dict[str, Any]]:
    """Each latent: its prior, the ends of its traversals and its slider, and, if the data set is available, how much it
    is used and the histogram of its values."""
    reach = [axis.reach() for axis in bench.axes] if bench.dataset is None else bench.look.reach
    found: list[dict[str, Any]] = [
        {"prior": axis.prior, "classes": axis.classes, "ends": axis.ends, "reach": reach[code]}
        for code, axis in enumerate(bench.traversed)
    ]
    if bench.dataset is None:
        return [{**code, "kl": None, "informativeness": None, "active": True, "histogram": None} for code in found]
    draws = bench.look.draws()
    for code, entry in enumerate(found):
        entry |= {
            "kl": round(float(bench.look.kl[code]), 4),
            "informativeness": round(float(bench.informativeness[code]), 4),
            "active": bool(bench.active[code]),
            "histogram": _histogram(bench, draws, code),
        }
    return found


def _factors(bench: Bench) -> list[dict[str, Any]]:
    if bench.dataset is None:
        return []
    grid = bench.dataset.factors
    scored = scored_factors(grid)
    return [
        {
            "name": factor.name,
            "size": factor.size,
            "kind": factor.kind,
            "guessed": factor.guessed,
            "values": factor.numbers.tolist() if factor.kind == "continuous" and factor.size <= MOST_VALUES else None,
            "scored": column in scored,
        }
        for column, factor in enumerate(grid.factors)
    ]


def _started(bench: Bench, images: NDArray[np.uint8], rows: NDArray[np.int64] | None) -> dict[str, Any]:
    means, logvars = bench.model.encode(images)
    return {
        "images": _text(images),
        "shape": list(images.shape),
        "rows": None if rows is None else rows.tolist(),
        "means": _finite(means),
        "deviations": _finite(np.exp(0.5 * logvars)),
    }


def _thumbnail(bench: Bench) -> bytes:
    """Small traversals of the most used latents on one line, to fit a table's row."""
    known = bench.dataset is not None
    order = bench.glance.order if known else np.arange(len(bench.axes))
    chosen = order[:THUMBNAIL_LATENTS]
    start = bench.glance.means[0] if known else np.zeros(len(bench.axes), np.float32)
    z = np.repeat(start[None], len(chosen) * THUMBNAIL_COLUMNS, axis=0).reshape(len(chosen), THUMBNAIL_COLUMNS, -1)
    axes = bench.glance.axes if known else bench.axes
    for row, code in enumerate(chosen):
        z[row, :, code] = axes[code].values(THUMBNAIL_COLUMNS)
    images = bench.decode(z.reshape(-1, z.shape[-1]))
    step = max(1, bench.model.shape[0] // THUMBNAIL_SIDE)
    height, width = (size // step * step for size in bench.model.shape[:2])
    blocks = images[:, :height, :width].reshape(len(images), height // step, step, width // step, step, -1)
    tiles = blocks.mean(axis=(2, 4)).round().astype(np.uint8)
    # Transparent between the latents.
    lines = [mosaic(part[None], gap=0) for part in np.split(tiles, len(chosen))]
    sheet = np.zeros((tiles.shape[1], len(lines) * (lines[0].shape[1] + THUMBNAIL_GAP) - THUMBNAIL_GAP, 4), np.uint8)
    for place, line in enumerate(lines):
        left = place * (line.shape[1] + THUMBNAIL_GAP)
        sheet[:, left : left + line.shape[1]] = np.dstack([line, np.full(line.shape[:2], 255, np.uint8)])
    return png_bytes(sheet)


def make_routes(catalogue: Catalogue, workbench: Workbench) -> APIRouter:
    """Every route under /api."""
    router, listing = APIRouter(prefix="/api"), Listing(catalogue)
    # Made in advance, so that the first visitor does not wait for it.
    listing.answer()

    @router.get("/runs")
    def runs(request: Request, protocol: str | None = None, representation: str | None = None) -> Response:
        tag, content = listing.answer(protocol, representation)
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
        else:
            content = gzip.decompress(content)
        return Response(content, media_type="application/json", headers=headers)

    @router.get("/runs/{identifier}")
    def run(identifier: str) -> dict[str, Any]:
        catalogue.refresh()
        row = catalogue.row(identifier)
        found = {**row, "facts": facts_of(row), "record": catalogue.record(identifier)}
        found["problem"] = catalogue.contents.problems.get(identifier, "")
        found["scores"] = catalogue.scores(identifier)
        return found

    @router.get("/runs/{identifier}/model")
    def model(identifier: str) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        with workbench.heavy.turn():
            return {
                "shape": list(bench.model.shape),
                "latents": _latents(bench),
                "noise": bench.noise,
                "factors": _factors(bench),
                "complete": bench.dataset is not None and bench.dataset.factors.complete,
                "problem": bench.problem,
            }

    @router.post("/runs/{identifier}/decode")
    def decode(identifier: str, question: Decode) -> Response:
        bench = workbench.bench(identifier)
        z = _rectangle(question.z)
        with workbench.light.turn():
            return _raw(bench.decode(z))

    @router.post("/runs/{identifier}/start")
    def start(identifier: str, question: Start) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        grid = bench.data.factors
        with workbench.light.turn():
            rows = (
                grid.draw(question.count, np.random.default_rng(question.seed or 0))
                if question.row is None
                else nearest_row(grid, question.row)[None]
            )
            return _started(bench, bench.data.render(rows, seed=question.seed or 0), rows)

    @router.post("/runs/{identifier}/upload")
    async def upload(identifier: str, request: Request) -> dict[str, Any]:
        data = await request.body()

        def encoded() -> dict[str, Any]:
            bench = workbench.bench(identifier)
            with workbench.light.turn():
                return _started(bench, decode_upload(data, bench.model.shape)[None], None)

        return await run_in_threadpool(encoded)

    @router.get("/runs/{identifier}/captured")
    def captured(identifier: str) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        if not bench.has_factors:
            return {"factors": []}
        with workbench.heavy.turn():
            found = bench.captured
            return {
                "factors": list(found.factors),
                "images": len(bench.look.means),
                "of_images": bench.data.factors.size,
                "information": _finite(found.information),
                "posterior_information": _finite(found.posterior_information),
                "entropies": _finite(found.entropies),
                "misjed": _finite(found.misjed),
                "chance": _finite(found.chance),
                "mig": mig_from_information(found.information, found.entropies),
                "rmig": mig_from_information(found.posterior_information, found.entropies),
                "top": found.ranking[:3].T.tolist(),
            }

    @router.get("/runs/{identifier}/importance")
    def importance(identifier: str) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        if not bench.has_factors:
            return {"importance": []}
        with workbench.heavy.turn():
            matrix = bench.importance
        disentanglement, completeness = dci_from_importance(matrix)
        return {"importance": _finite(matrix), "disentanglement": disentanglement, "completeness": completeness}

    @router.post("/runs/{identifier}/vary")
    def vary(identifier: str, question: Vary) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        column = bench.data.factors.column(question.factor)
        with workbench.light.turn():
            found = response(bench.model, bench.data, np.asarray(question.row), column)
        return {
            "factor": found.factor,
            "values": found.values.tolist(),
            "images": _text(found.images),
            "shape": list(found.images.shape),
            "means": _finite(found.means),
            "deviations": _finite(found.deviations),
            "held": found.held,
        }

    @router.get("/runs/{identifier}/curves")
    def curves(identifier: str, after: int = -1) -> dict[str, Any]:
        row = catalogue.row(identifier)
        return {
            "status": row["status"],
            "steps": row["steps"],
            "written": catalogue.written(identifier),
            "now": time.time(),
            "curves": catalogue.curves(identifier, after),
        }

    @router.get("/runs/{identifier}/thumbnail.png")
    def thumbnail(identifier: str, request: Request) -> Response:
        # A run that is trained again gets a new picture.
        headers = {"ETag": f'"{workbench.written(identifier)}"', "Cache-Control": "private, no-cache"}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        bench = workbench.bench(identifier)
        with workbench.heavy.turn():
            bench.thumbnail = bench.thumbnail or _thumbnail(bench)
        return Response(bench.thumbnail, media_type="image/png", headers=headers)

    @router.post("/runs/{identifier}/export")
    def export(identifier: str, question: Export) -> Response:
        bench = workbench.bench(identifier)
        z = _rectangle(question.z)
        with workbench.heavy.turn():
            if question.format == "html":
                return _page(bench, z, catalogue.row(identifier))
            sheet = question.rows * question.columns
            if len(z) % sheet:
                raise ValueError(f"{len(z)} images do not fill sheets of {question.rows} × {question.columns}")
            images = bench.decode(z)
            frames = images.reshape(len(z) // sheet, question.rows, question.columns, *images.shape[1:])
            if question.format == "gif":
                return _file(gif_of(frames, question.milliseconds), "image/gif", "view.gif")
            return _file(png_of(frames[0]), "image/png", "view.png")

    return router


def _rectangle(rows: list[list[float]]) -> NDArray[np.float32]:
    """Rows of one length as an array."""
    if len({len(row) for row in rows}) > 1:
        raise ValueError("rows of latents differ in length")
    return np.asarray(rows, dtype=np.float32)


def _file(content: bytes, kind: str, name: str) -> Response:
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _page(bench: Bench, starts: NDArray[np.float32], row: dict[str, Any]) -> Response:
    if len(starts) > 16:
        raise ValueError(f"{len(starts)} starting points are too many for a page; at most 16 are taken")
    order = (bench.look.order if bench.dataset is not None else np.arange(len(bench.axes))).tolist()
    left = ("dataset", "architecture", "latents", "steps")
    facts = [fact["text"] for fact in facts_of(row) if fact["telling"] and fact["name"] not in left]
    title = f"{row['method']} on {row['dataset']}, {', '.join(facts)}"
    return _file(traversal_page(bench, starts, order, title).encode(), "text/html; charset=utf-8", "traversals.html")
