"""The routes of the page's requests. Images are sent as raw bytes, which a canvas takes as they are."""

from __future__ import annotations

import base64
import gzip
import time
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from hackle.explorer.catalogue import Served
from hackle.explorer.described import factors_of, finite, latents_of, thumbnail_of
from hackle.explorer.exports import traversal_page
from hackle.explorer.listing import Listing, facts_of, in_order
from hackle.explorer.matching import match_benches
from hackle.explorer.sheets import Labels, Sheet
from hackle.explorer.uploads import decode_upload
from hackle.explorer.workbench import Bench, Workbench
from hackle.figures import words
from hackle.metrics import dci_from_importance
from hackle.metrics.mig import mig_from_information
from hackle.pictures import nearest_row, response

Row = Annotated[list[float], Field(min_length=1, max_length=4096)]
Latents = Annotated[list[Row], Field(min_length=1, max_length=4096)]
FactorRow = Annotated[list[int], Field(min_length=1, max_length=256)]
MOST_COMPARED = 6
Seed = Annotated[int, Field(ge=0, lt=2**63)]


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
    """Latents of the images in reading order: frames, then rows, then columns; null where a tile stays blank."""

    format: Literal["png", "svg", "gif", "html"]
    z: Annotated[list[Row | None], Field(min_length=1, max_length=4096)]
    rows: Annotated[int, Field(ge=1, le=256)] = 1
    columns: Annotated[int, Field(ge=1, le=256)] = 1
    labels: Labels = Labels()
    milliseconds: Annotated[int, Field(ge=20, le=2000)] = 80


def _text(images: NDArray[np.uint8]) -> str:
    return base64.b64encode(np.ascontiguousarray(images).tobytes()).decode()


def _raw(images: NDArray[np.uint8]) -> Response:
    shape = ",".join(str(size) for size in images.shape)
    headers = {"X-Shape": shape, "Cache-Control": "no-store"}
    return Response(np.ascontiguousarray(images).tobytes(), media_type="application/octet-stream", headers=headers)


def _started(bench: Bench, images: NDArray[np.uint8], rows: NDArray[np.int64] | None) -> dict[str, Any]:
    means, logvars = bench.model.encode(images)
    return {
        "images": _text(images),
        "shape": list(images.shape),
        "rows": None if rows is None else rows.tolist(),
        "means": finite(means),
        "deviations": finite(np.exp(0.5 * logvars)),
    }


def make_routes(catalogue: Served, workbench: Workbench) -> APIRouter:
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
        row, record = catalogue.row(identifier), catalogue.record(identifier)
        answer = {
            **row,
            "title": words.method(str(row["method"])),
            "facts": facts_of(row, record),
            "record": record,
        }
        answer["problem"] = workbench.no_model(identifier)
        answer["scores"] = in_order(catalogue.scores(identifier))
        answer["scores_problem"] = "" if answer["problem"] else catalogue.contents.problems.get(identifier, "")
        return answer

    @router.get("/runs/{identifier}/model")
    def model(identifier: str) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        with workbench.heavy.turn():
            return {
                # Questions about a run that is training are about the checkpoint that was opened.
                "id": f"{identifier}@{bench.version}" if bench.version else identifier,
                "shape": list(bench.model.shape),
                "latents": latents_of(bench),
                "noise": bench.noise,
                "factors": factors_of(bench),
                "complete": bench.dataset is not None and bench.dataset.factors.complete,
                "problem": bench.problem,
                "step": bench.step,
                "steps": bench.model.run.steps,
            }

    @router.get("/runs/{identifier}/step")
    def newest_step(identifier: str) -> dict[str, Any]:
        """The step of the last checkpoint of a run that is training, null once it has finished."""
        return {"step": workbench.newest_step(identifier)}

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
            information = bench.captured
            return {
                "factors": list(information.factors),
                "images": len(bench.look.means),
                "of_images": bench.data.factors.size,
                "information": finite(information.information),
                "posterior_information": finite(information.posterior_information),
                "entropies": finite(information.entropies),
                "misjed": finite(information.misjed),
                "chance": finite(information.chance),
                "mig": mig_from_information(information.information, information.entropies),
                "rmig": mig_from_information(information.posterior_information, information.entropies),
                "top": information.ranking[:3].T.tolist(),
                "sentence": information.sentence(bench.active, len(bench.look.means)),
            }

    @router.get("/match")
    def match(runs: Annotated[str, Query(max_length=512)]) -> dict[str, Any]:
        names = runs.split(",")
        if len(names) > MOST_COMPARED:
            raise ValueError(f"{len(names)} runs are too many to compare; at most {MOST_COMPARED} are taken")
        benches = [workbench.bench(name) for name in names]
        with workbench.heavy.turn():
            return match_benches(benches)

    @router.get("/runs/{identifier}/importance")
    def importance(identifier: str) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        if not bench.has_factors:
            return {"importance": []}
        with workbench.heavy.turn():
            matrix = bench.importance
        disentanglement, completeness = dci_from_importance(matrix)
        return {"importance": finite(matrix), "disentanglement": disentanglement, "completeness": completeness}

    @router.get("/runs/{identifier}/importance/{factor}")
    def importance_for(identifier: str, factor: int) -> dict[str, Any]:
        """One factor's part of it, so that a page can follow the computation."""
        bench = workbench.bench(identifier)
        if not bench.has_factors or not 0 <= factor < len(bench.captured.factors):
            raise ValueError(f"there is no factor {factor} to predict; expected one of those that were compared")
        with workbench.heavy.turn():
            return {"importance": finite(bench.importance_for(factor))}

    @router.post("/runs/{identifier}/vary")
    def vary(identifier: str, question: Vary) -> dict[str, Any]:
        bench = workbench.bench(identifier)
        column = bench.data.factors.column(question.factor)
        with workbench.light.turn():
            varied = response(bench.model, bench.data, np.asarray(question.row), column)
        return {
            "factor": varied.factor,
            "values": varied.values.tolist(),
            "images": _text(varied.images),
            "shape": list(varied.images.shape),
            "means": finite(varied.means),
            "deviations": finite(varied.deviations),
            "held": varied.held,
            "shares": {code: finite(shares) for code, shares in varied.shares.items()},
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
            picture = bench.once("thumbnail", lambda: thumbnail_of(bench))
        return Response(picture, media_type="image/png", headers=headers)

    @router.post("/runs/{identifier}/export")
    def export(identifier: str, question: Export) -> Response:
        bench = workbench.bench(identifier)
        blank = np.array([row is None for row in question.z])
        z = _rectangle([row for row in question.z if row is not None])
        with workbench.heavy.turn():
            if question.format == "html":
                return _page(bench, z, catalogue.row(identifier.partition("@")[0]))
            frames, left = divmod(len(blank), question.rows * question.columns)
            if left:
                raise ValueError(f"{len(blank)} images do not fill sheets of {question.rows} × {question.columns}")
            height, width, _ = bench.model.shape
            sheet = Sheet(question.labels, question.rows, question.columns, height, width, frames)
            images, blanks = bench.decode(z), np.split(blank, frames)
            shown = np.split(images, np.cumsum([(~part).sum() for part in blanks])[:-1])
            if question.format == "gif":
                film = list(zip(shown, blanks, strict=True))
                return _file(sheet.gif(film, question.milliseconds), "image/gif", "view.gif")
            if question.format == "svg":
                return _file(sheet.svg(shown[0], blanks[0]), "image/svg+xml", "view.svg")
            return _file(sheet.png(shown[0], blanks[0]), "image/png", "view.png")

    return router


def _rectangle(rows: list[list[float]]) -> NDArray[np.float32]:
    """Rows of one length as an array."""
    if len({len(row) for row in rows}) != 1:
        raise ValueError("there are no rows of latents, or rows of different lengths; expected one for each image")
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
