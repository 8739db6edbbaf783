"""Training: run folders, exact resume whatever the interruption, divergence, and what the folder holds afterwards."""

from __future__ import annotations

import csv
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import forked
from hackle.core.errors import HackleError
from hackle.core.types import Run
from hackle.nets import Adversarial, Own
from hackle.objectives import VAE, BetaVAE, FactorVAE
from hackle.train import Diverged, TrainingError, default_device, display, find_device, fit
from hackle.train.fleet import Fleet
from hackle.train.model import Model
from train.test_fleet import Exploding, small_run

FACTOR = FactorVAE(gamma=5.0, discriminator_layers=2, discriminator_width=16)


def quiet(run: Any, out: Path | None, squares: Any, **options: Any) -> Any:
    return fit(run, out=out, dataset=squares, device="cpu", progress=False, **options)


def curves(folder: Path) -> list[dict[str, str]]:
    with (folder / "curves.csv").open() as file:
        return list(csv.DictReader(file))


def assert_equal_weights(first: Path, second: Path) -> None:
    left, right = load_file(first / "weights.safetensors"), load_file(second / "weights.safetensors")
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_a_run_folder_holds_record_weights_and_curves(tmp_path: Path, squares: Any) -> None:
    run = small_run(FACTOR, steps=12)
    model = quiet(run, tmp_path / "run", squares, log_every=5)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"run.json", "weights.safetensors", "curves.csv"} <= names
    assert any(name.startswith("events.out.tfevents") for name in names)
    # The state after the last step, from which it can be lengthened, and none before it.
    assert "checkpoint.safetensors" in names
    assert "checkpoint.previous.safetensors" not in names
    rows = curves(tmp_path / "run")
    assert [row["step"] for row in rows] == ["5", "10", "12"]
    wanted = {"reconstruction", "kl", "kl_per_latent_0", "kl_per_latent_2", "total_correlation"}
    assert wanted | {"discriminator", "discriminator_accuracy"} <= rows[0].keys()
    kl = sum(float(rows[0][f"kl_per_latent_{latent}"]) for latent in range(3))
    assert kl == pytest.approx(float(rows[0]["kl"]), rel=1e-5)
    loaded = Model.load(tmp_path / "run")
    assert loaded.run == run
    assert all(torch.equal(value, loaded.weights()[name]) for name, value in model.weights().items())


def test_the_loss_goes_down(squares: Any, tmp_path: Path) -> None:
    quiet(small_run(VAE(), steps=150), tmp_path / "run", squares, log_every=50)
    rows = curves(tmp_path / "run")
    assert float(rows[-1]["reconstruction"]) < 0.8 * float(rows[0]["reconstruction"])


def stop_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Ask for a stop, as Ctrl-C does, once so many steps were taken."""
    original = Fleet.step

    def step(self: Any) -> None:
        original(self)
        if self.step_number == steps:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Fleet, "step", step)


@pytest.mark.parametrize("method", [BetaVAE(4.0), FACTOR])
@pytest.mark.parametrize("stop", [1, 7, 10])
def test_stopping_and_resuming_changes_nothing(
    method: Any, stop: int, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(method, steps=13)
    quiet(run, tmp_path / "whole", squares, log_every=5)
    with monkeypatch.context() as patch:
        stop_after(patch, stop)
        with pytest.raises(TrainingError, match=f"stopped at step {stop}"):
            quiet(run, tmp_path / "parts", squares, log_every=5)
    assert (tmp_path / "parts" / "checkpoint.safetensors").is_file()
    quiet(run, tmp_path / "parts", squares, log_every=5, resume=True)
    assert_equal_weights(tmp_path / "whole", tmp_path / "parts")
    assert (tmp_path / "whole" / "curves.csv").read_bytes() == (tmp_path / "parts" / "curves.csv").read_bytes()


def test_a_killed_run_resumes_to_the_same_weights(tmp_path: Path, squares: Any) -> None:
    run = small_run(FACTOR, steps=30)
    # Steps that take their time leave time to be killed in.
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from conftest import Squares\n"
        "from hackle.train.fleet import Fleet\n"
        "from train.test_train import FACTOR, quiet\n"
        "from train.test_fleet import small_run\n"
        "step = Fleet.step\n"
        "Fleet.step = lambda fleet: time.sleep(0.1) or step(fleet)\n"
        "quiet(small_run(FACTOR, steps=30), Path(sys.argv[1]), Squares(), log_every=3, checkpoint_seconds=0.0)\n"
    )
    folder = tmp_path / "killed"
    process = forked.start(code, folder)
    deadline = time.monotonic() + 120
    while not (folder / "checkpoint.safetensors").exists() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.join()
    assert not (folder / "weights.safetensors").exists(), "the run ended before it could be killed"
    quiet(run, folder, squares, log_every=3, resume=True)
    quiet(run, tmp_path / "whole", squares, log_every=3)
    assert_equal_weights(folder, tmp_path / "whole")
    assert curves(folder) == curves(tmp_path / "whole")


def test_a_folder_in_which_another_process_trains_is_left_to_it(tmp_path: Path, squares: Any) -> None:
    run, folder = small_run(VAE(), steps=3), tmp_path / "run"
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from conftest import Squares\n"
        "from hackle.objectives import VAE\n"
        "from train.test_train import quiet\n"
        "from train.test_fleet import small_run\n"
        "scores = lambda model, data: time.sleep(600) or {}\n"
        "more = {'scores': scores, 'score_every': 1, 'checkpoint_seconds': 0.0}\n"
        "quiet(small_run(VAE(), steps=3), Path(sys.argv[1]), Squares(), log_every=1, **more)\n"
    )
    process = forked.start(code, folder)
    deadline = time.monotonic() + 120
    while not (folder / "run.json").exists() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        with pytest.raises(TrainingError, match=rf"in use by process {process.pid} on .* since 20.*; wait until"):
            quiet(run, folder, squares, resume=True)
    finally:
        process.kill()
        process.join()
    # The lock of a dead process holds nobody, and none is left behind.
    quiet(run, folder, squares, resume=True)
    assert (folder / "weights.safetensors").is_file()
    assert not (folder / "lock").exists()


def test_a_lock_left_by_a_process_killed_at_once_does_not_make_a_folder_anothers(tmp_path: Path, squares: Any) -> None:
    (tmp_path / "lock").write_text("process 1 on nowhere")
    quiet(small_run(VAE(), steps=1), tmp_path, squares)
    assert (tmp_path / "weights.safetensors").is_file()


def test_several_runs_train_together_into_folders_of_their_own(tmp_path: Path, squares: Any) -> None:
    runs = [small_run(BetaVAE(beta), seed=seed) for seed, beta in enumerate((1.0, 4.0))] + [small_run(VAE())]
    models = quiet(runs, tmp_path, squares)
    assert [model.run for model in models] == runs
    assert len(list(tmp_path.iterdir())) == 3
    again = quiet(runs, tmp_path, squares, resume=True)
    assert all(
        torch.equal(value, second.weights()[name])
        for first, second in zip(models, again, strict=True)
        for name, value in first.weights().items()
    )


@pytest.mark.parametrize("what", [3, "beta-vae", [3], ["beta-vae"], None, VAE()])
def test_what_is_no_run_is_refused(squares: Any, what: Any) -> None:
    with pytest.raises(TrainingError, match=r"cannot train .*; expected a hackle\.Run, or a list of them"):
        quiet(what, None, squares)


def test_what_is_no_data_set_is_refused(squares: Any, tmp_path: Path) -> None:
    run, images = small_run(VAE()), squares.render(squares.factors.rows([0, 1]))
    with pytest.raises(TrainingError, match=r"belongs in the record.*replace\(run, dataset='discs\.npz'\)"):
        quiet(run, tmp_path / "run", "discs.npz")
    with pytest.raises(HackleError, match=r"the data set is of type ndarray.*hackle.from_arrays"):
        quiet(run, tmp_path / "run", images)
    assert not list(tmp_path.iterdir())


class Dropping(nn.Module):
    """An encoder that draws random numbers without a layer that says so."""

    def __init__(self, shape: tuple[int, int, int], latents: int) -> None:
        super().__init__()
        self.layer = nn.Linear(shape[0] * shape[1] * shape[2], 2 * latents)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layer(nn.functional.dropout(images.flatten(1)))


class Decoding(nn.Module):
    def __init__(self, shape: tuple[int, int, int], latents: int) -> None:
        super().__init__()
        self.shape, self.layer = shape, nn.Linear(latents, shape[0] * shape[1] * shape[2])

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layer(z).reshape(-1, self.shape[2], *self.shape[:2])


def test_networks_that_draw_random_numbers_are_refused(squares: Any) -> None:
    with pytest.raises(TrainingError, match="draw random numbers of their own, as dropout does"):
        quiet(replace(small_run(VAE()), architecture=Own(Dropping, Decoding)), None, squares)


def test_nothing_is_overwritten(tmp_path: Path, squares: Any) -> None:
    run = small_run(VAE())
    quiet(run, tmp_path / "run", squares)
    with pytest.raises(TrainingError, match=r"resume=True \(--resume"):
        quiet(run, tmp_path / "run", squares)
    with pytest.raises(TrainingError, match="another run"):
        quiet(small_run(VAE(), seed=1), tmp_path / "run", squares, resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(TrainingError, match="not empty"):
        quiet(run, tmp_path / "mine", squares)


def test_a_damaged_checkpoint_is_named(tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(VAE(), steps=9)
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(TrainingError):
            quiet(run, tmp_path / "run", squares)
    checkpoint = tmp_path / "run" / "checkpoint.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    with pytest.raises(TrainingError, match=r"checkpoint\.safetensors is damaged"):
        quiet(run, tmp_path / "run", squares, resume=True)


def test_divergence_names_step_term_and_checkpoint(tmp_path: Path, squares: Any) -> None:
    run = small_run(Exploding(7.0), steps=20)
    with pytest.raises(Diverged, match=r"diverged at step 7: kl not finite; last good checkpoint: step 6"):
        quiet(run, tmp_path / "run", squares, log_every=3, checkpoint_seconds=0.0)
    runs = [small_run(Exploding(at), steps=20) for at in (7.0, 1e9)]
    models = quiet(runs, None, squares)
    assert models[0] is None
    assert models[1].run == runs[1]


def test_training_works_off_the_main_thread(squares: Any) -> None:
    found: list[Any] = []
    worker = threading.Thread(target=lambda: found.append(quiet(small_run(VAE()), None, squares)))
    worker.start()
    worker.join()
    assert isinstance(found[0], Model)


def test_long_runs_on_a_cpu_are_announced(squares: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "LONG_RUN_SECONDS", 0.0)
    run = Run(VAE(), small_run(VAE()).architecture, steps=40, batch_size=4, latents=2)
    fit(run, dataset=squares, device="cpu")
    assert "hours on this CPU" in " ".join(capsys.readouterr().err.split())


def test_a_log_gets_a_line_about_every_half_minute() -> None:
    now, said = [0.0], []
    lines = display.Lines(said.append, lambda: now[0])
    lines.begin("VAE × 2", 100, 1_100)
    for step in range(101, 1_101):
        now[0] += 0.125
        if step == 200:
            lines.point("reconstruction 12.5")
        lines.step(step)
    assert said == [
        "VAE × 2 step 340/1,100 · 8.0 steps/s · 0:01:35 left · reconstruction 12.5",
        "VAE × 2 step 580/1,100 · 8.0 steps/s · 0:01:05 left · reconstruction 12.5",
        "VAE × 2 step 820/1,100 · 8.0 steps/s · 0:00:35 left · reconstruction 12.5",
        "VAE × 2 step 1,060/1,100 · 8.0 steps/s · 0:00:05 left · reconstruction 12.5",
    ]


def test_lines_are_for_logs_alone(squares: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "LINE_SECONDS", 0.0)
    for terminal, lines in (("0", 2), ("1", 0)):
        monkeypatch.setenv("TTY_COMPATIBLE", terminal)
        fit(small_run(VAE(), steps=2), dataset=squares, device="cpu")
        assert capsys.readouterr().err.count("VAE × 1 step ") == lines
        quiet(small_run(VAE(), steps=2), None, squares)
        assert capsys.readouterr().err == ""


def test_what_is_refused_or_done_already_shows_no_bar(squares: Any, tmp_path: Path, capsys: Any) -> None:
    run = small_run(VAE(), steps=2)
    fit(run, out=tmp_path, dataset=squares, device="cpu")
    assert "VAE × 1" in capsys.readouterr().err
    fit(run, out=tmp_path, dataset=squares, device="cpu", resume=True)
    with pytest.raises(TrainingError, match="holds this run already"):
        fit(run, out=tmp_path, dataset=squares, device="cpu")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["gpu", "cuda:1000", "meta"])
def test_a_device_that_is_not_there_is_refused_before_a_folder_is_claimed(
    name: str, tmp_path: Path, squares: Any
) -> None:
    with pytest.raises(TrainingError, match=f"no device '{name}' here; there is cpu"):
        fit(small_run(VAE(), steps=1), out=tmp_path / "run", dataset=squares, device=name, progress=False)
    assert not (tmp_path / "run").exists()


def test_networks_that_cannot_be_built_are_refused_before_a_folder_is_claimed(tmp_path: Path, squares: Any) -> None:
    with pytest.raises(HackleError, match="VAE needs an encoder and a decoder"):
        quiet(small_run(VAE(), architecture=Adversarial()), tmp_path / "run", squares)
    assert not (tmp_path / "run").exists()


def test_no_points_of_the_curves_are_refused_before_a_folder_is_claimed(tmp_path: Path, squares: Any) -> None:
    with pytest.raises(TrainingError, match="log_every is 0; expected a number of steps, 1 or more"):
        quiet(small_run(VAE(), steps=1), tmp_path / "run", squares, log_every=0)
    assert not (tmp_path / "run").exists()


def test_a_file_cannot_be_a_runs_folder(tmp_path: Path, squares: Any) -> None:
    place = tmp_path / "notes.md"
    place.write_text("mine")
    for out in (place, place / "run"):
        with pytest.raises(TrainingError, match=r"notes\.md.* cannot be this run's folder: Not a directory; choose"):
            quiet(small_run(VAE(), steps=1), out, squares)
    assert place.read_text() == "mine"


def test_another_run_is_told_by_the_fields_that_differ(tmp_path: Path, squares: Any) -> None:
    run = small_run(BetaVAE(4.0), steps=2)
    quiet(run, tmp_path, squares)
    with pytest.raises(
        TrainingError, match=r"another run \(steps: 2 there, 1 asked\)\. A run can be lengthened, and not"
    ):
        quiet(replace(run, steps=1), tmp_path, squares, resume=True)
    with pytest.raises(TrainingError, match=r"\(method\.beta: 4\.0 there, 5\.0 asked, seed: 0 there, 1 asked\)"):
        quiet(replace(run, seed=1, method=BetaVAE(5.0)), tmp_path, squares)
    with pytest.raises(TrainingError, match=r"\(method: BetaVAE there, VAE asked\)"):
        quiet(replace(run, method=VAE()), tmp_path, squares)


def test_devices_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_device() == default_device()
    assert find_device("cpu") == find_device(torch.device("cpu")) == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert [str(find_device(name)) for name in ("cuda", "cuda:1")] == ["cuda", "cuda:1"]
    with pytest.raises(TrainingError, match="there is cpu, cuda:0, cuda:1"):
        find_device("cuda:2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(TrainingError, match="no device 'cuda' here; there is cpu"):
        find_device("cuda")


@pytest.mark.parametrize("columns", [70, 80, 200])
def test_a_narrow_terminal_cuts_losses_and_not_the_time_left(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    run = small_run(VAE(), steps=1000)
    with display.shown(True, torch.device("cpu")) as watch:
        watch.begin([run], 0)
        watch.point(1000, 3.4, {"reconstruction": 122.6, "total_correlation": 0.25, "kl": 22.44})
    bar = capsys.readouterr().err.splitlines()[-1]
    assert "1,000/1,000 · 3.4/s · 00:00 left reconst" in bar
    assert ("kl 22.44" in bar) == (columns == 200)
