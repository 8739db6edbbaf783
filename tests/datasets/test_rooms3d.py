"""The rooms: solids against signed distances, light and camera against closed forms, images against whole-number sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from triton_in_numpy import emulate

from hackle.core.factors import FactorError
from hackle.core.randomness import Stream
from hackle.core.types import Dataset
from hackle.datasets import raycast, rooms3d, rooms3d_kernel
from hackle.datasets.raycast import FLOOR, OBJECT, WALL, WHITE, Capsule, Cube, Cylinder, Sphere, View, cast
from hackle.datasets.rooms3d import GEOMETRIES, GEOMETRY_FILE, ORIENTATIONS, SCALES, SHAPES, load


def cube_distance(cube: Cube, points):
    q = np.abs(points - [[0], [0], [cube.edge / 2]]) - cube.edge / 2
    return np.linalg.norm(np.maximum(q, 0), axis=0) + np.minimum(q.max(axis=0), 0)


def cylinder_distance(cylinder: Cylinder, points):
    radial = np.hypot(points[0], points[1]) - cylinder.radius
    axial = np.abs(points[2] - cylinder.length / 2) - cylinder.length / 2
    outside = np.hypot(np.maximum(radial, 0), np.maximum(axial, 0))
    return outside + np.minimum(np.maximum(radial, axial), 0)


def sphere_distance(sphere: Sphere, points):
    return np.linalg.norm(points - [[0], [0], [sphere.radius]], axis=0) - sphere.radius


def capsule_distance(capsule: Capsule, points):
    level = np.clip(points[2], capsule.radius, capsule.length - capsule.radius)
    return np.sqrt(points[0] ** 2 + points[1] ** 2 + (points[2] - level) ** 2) - capsule.radius


# Signed distances know nothing of rays: they are the independent account of each body.
BODIES = [
    pytest.param(Cube(1.3), cube_distance, id="cube"),
    pytest.param(Cylinder(0.7, 1.5), cylinder_distance, id="cylinder"),
    pytest.param(Sphere(0.9), sphere_distance, id="sphere"),
    pytest.param(Capsule(0.5, 2.1), capsule_distance, id="capsule"),
]


def random_rays(n: int = 3000):
    """Rays from a shell of radius 5 towards points around the solid; some meet it and some do not."""
    rng = np.random.default_rng(0)
    origin = rng.normal(size=(3, n))
    origin *= 5 / np.linalg.norm(origin, axis=0)
    direction = rng.uniform([[-1.5], [-1.5], [-0.5]], [[1.5], [1.5], [2.5]], size=(3, n)) - origin
    return origin, direction / np.linalg.norm(direction, axis=0)


@pytest.mark.parametrize(("solid", "signed_distance"), BODIES)
def test_rays_meet_the_surface_first_where_the_signed_distance_says(solid, signed_distance):
    origin, direction = random_rays()
    t = solid.hit(origin, direction)
    met = np.isfinite(t)
    assert 0.15 < met.mean() < 0.85
    assert np.abs(signed_distance(solid, origin + np.where(met, t, 0) * direction)[met]).max() < 1e-12
    along = np.linspace(0, 8, 801)[:, None]
    closest = np.stack([signed_distance(solid, origin + step * direction) for step in along])
    before = np.where(met, along < t - 1e-9, True)
    assert closest[before].min() > -1e-12
    assert (closest.min(axis=0)[met] < 0).mean() > 0.9


@pytest.mark.parametrize(("solid", "signed_distance"), BODIES)
def test_normals_are_the_gradient_of_the_signed_distance(solid, signed_distance):
    origin, direction = random_rays()
    t = solid.hit(origin, direction)
    points = (origin + t * direction)[:, np.isfinite(t)]
    normals = solid.normal(points)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=0), 1, rtol=1e-12)
    step = 1e-5
    sides = [np.eye(3)[:, [axis]] * step for axis in range(3)]
    gradient = np.stack([signed_distance(solid, points + h) - signed_distance(solid, points - h) for h in sides])
    gradient /= 2 * step
    smooth = np.abs(np.linalg.norm(gradient, axis=0) - 1) < 1e-4  # a step across an edge has no gradient
    assert smooth.mean() > 0.99
    np.testing.assert_allclose(normals[:, smooth], gradient[:, smooth], atol=1e-4)
    assert (np.sum(normals * direction[:, np.isfinite(t)], axis=0) < 1e-9).all()


def test_closed_forms():
    ball = Sphere(1.0)
    start = np.array([[-5.0, -5.0, -5.0], [0.0, 0.6, 1.1], [1.0, 1.0, 1.0]])
    forward = np.broadcast_to([[1.0], [0.0], [0.0]], (3, 3))
    np.testing.assert_allclose(ball.hit(start, forward), [4.0, 5 - 0.8, np.inf], rtol=1e-14)
    down = np.array([[0.0], [0.0], [-1.0]])
    above = np.array([[0.1, 2.0], [0.2, 0.0], [7.0, 7.0]])
    np.testing.assert_allclose(Cube(1.5).hit(above, down), [5.5, np.inf])
    np.testing.assert_allclose(Cylinder(0.5, 2.0).hit(above, down), [5.0, np.inf])
    top = 2.0 - 0.5 + math.sqrt(0.25 - 0.05)
    np.testing.assert_allclose(Capsule(0.5, 2.0).hit(above, down), [7 - top, np.inf])
    assert Cube(1.5).hit(above, -down).tolist() == [np.inf, np.inf]  # behind the ray
    assert Cylinder(0.5, 2.0).scaled(3.0) == Cylinder(1.5, 6.0)


def test_camera_looks_at_the_solid_from_its_orbit():
    camera, direction = raycast.camera_rays(12.0, side=8, subsamples=2)
    assert direction.shape == (3, 4 * 64)
    np.testing.assert_allclose(np.linalg.norm(direction, axis=0), 1)
    target = np.array(raycast.CAMERA_TARGET)[:, None]
    middle = (target - camera)[:, 0] / raycast.CAMERA_DISTANCE
    mean = direction.mean(axis=1)
    np.testing.assert_allclose(mean / np.linalg.norm(mean), middle, atol=1e-12)
    assert math.degrees(math.atan2(camera[1, 0], camera[0, 0])) == pytest.approx(57.0)
    pixels = direction.reshape(3, 4, 8, 8)
    assert (np.diff(pixels[2], axis=1) < 0).all()  # lower rows look lower
    right = np.cross(middle, [0, 0, 1])
    assert (np.diff(np.tensordot(right, pixels, 1), axis=2) > 0).all()


def test_silhouette_of_a_ball_has_the_area_that_perspective_gives():
    """A ball in the middle of the picture shows as a disc of radius tan(arcsin(r / distance))."""
    ball = Sphere(raycast.CAMERA_TARGET[2])
    view = View.at(0.0)
    seen, _ = ball.met_by(view.sight)
    radius = math.tan(math.asin(ball.radius / raycast.CAMERA_DISTANCE)) / raycast.HALF_VIEW * 32
    assert len(seen) / 16 == pytest.approx(math.pi * radius**2, rel=2e-3)


def test_empty_room_is_floor_and_two_walls():
    view = View.at(-21.0)
    x, y, z = view.light.origin
    floor, wall, solid, white = view.lit > 0
    assert not solid.any()
    assert (floor.astype(int) + wall + white == 1).all()
    np.testing.assert_allclose(z[floor], 0, atol=1e-12)
    nearest = np.minimum(np.abs(x + raycast.WALL_DISTANCE), np.abs(y + raycast.WALL_DISTANCE))
    np.testing.assert_allclose(nearest[wall | white], 0, atol=1e-12)
    assert z[white].max() < raycast.SKIRTING_HEIGHT <= z[wall].min()
    assert (np.minimum(x, y) > -raycast.WALL_DISTANCE - 1e-12).all()
    shade = view.lit.sum(axis=0)
    assert raycast.AMBIENT < shade.min() < shade.max() < raycast.AMBIENT + raycast.DIFFUSE < 1


def test_lamp_cells_are_each_seen_by_one_subsample():
    points = raycast.lamp_points(4)
    assert len({tuple(point) for point in points.T.round(9)}) == 16
    np.testing.assert_allclose(points.mean(axis=1), raycast.LAMP)
    np.testing.assert_allclose(np.ptp(points, axis=1), [0.75 * raycast.LAMP_SIDE, 0.75 * raycast.LAMP_SIDE, 0])


def test_shadow_of_a_ball_is_where_it_blocks_the_way_to_the_lamp():
    """A point is dark exactly when the ball's centre is nearer than its radius to the line from the point to the lamp."""
    view, ball = View.at(9.0), Sphere(1.0)
    to_centre = np.array([[0.0], [0.0], [1.0]]) - view.light.origin
    off = np.linalg.norm(np.cross(to_centre, view.light.direction, axis=0), axis=0)
    ahead = np.sum(to_centre * view.light.direction, axis=0) > 0
    shadowed, _ = ball.met_by(view.light)
    np.testing.assert_array_equal(shadowed, np.flatnonzero((off < 1.0) & ahead))
    assert len(shadowed) > 1000


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("degrees", [-30.0, 0.0, 30.0])
def test_shadow_falls_away_from_the_lamp(name, degrees):
    view, solid = View.at(degrees), SHAPES[name]
    shadowed, _ = solid.met_by(view.light)
    behind = view.light.origin[:2, shadowed]
    lamp = np.array(raycast.LAMP[:2])
    assert behind.mean(axis=1) @ lamp < -0.5 * np.linalg.norm(lamp)
    empty = view.lit.reshape(4, 16, -1).mean(axis=1).T
    change = cast(view, solid) - empty
    bare = cast(view, solid)[:, OBJECT] == 0
    assert change[bare][:, [FLOOR, WALL, WHITE]].max() == pytest.approx(0.0, abs=1e-12)
    assert (change[bare].sum(axis=1) < -0.05).sum() > 20
    soft = -change[bare].sum(axis=1)
    assert ((soft > 0.03) & (soft < 0.1)).sum() > 5


def test_shading_is_lamberts_law_and_the_highlight_sits_at_the_mirror_angle():
    """On the ball, the whitest point's normal halves the angle between the ways to the lamp and to the camera."""
    ball = Sphere(1.05)
    weights = cast(View.at(0.0), ball)
    camera, direction = raycast.camera_rays(0.0, side=64, subsamples=1)
    at = int(np.where(weights[:, OBJECT] > 0.3, weights[:, WHITE], 0).argmax())  # not the skirting board, white too
    point = camera[:, 0] + ball.hit(camera, direction)[at] * direction[:, at]
    to_lamp, to_camera = np.array(raycast.LAMP) - point, camera[:, 0] - point
    halfway = to_lamp / np.linalg.norm(to_lamp) + to_camera / np.linalg.norm(to_camera)
    normal = ball.normal(point[:, None])[:, 0]
    assert normal @ halfway / np.linalg.norm(halfway) > math.cos(math.radians(4))
    top = cast(View.at(0.0), Cube(1.0)).reshape(64, 64, 4)[34, 32]  # a pixel of the cube's upper face
    up = np.array(raycast.LAMP) - [0, 0, 1.0]
    expected = raycast.AMBIENT + raycast.DIFFUSE * up[2] / np.linalg.norm(up)
    assert top[OBJECT] / (1 - top[WHITE]) == pytest.approx(expected, rel=0.02)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def dataset(root):
    return load(root)


@pytest.fixture(scope="module")
def grid(dataset):
    """Weights by scale, shape, orientation, row, column, material."""
    return dataset.weights.reshape(len(SCALES), len(SHAPES), len(ORIENTATIONS), 64, 64, 4).astype(np.int64)


def compose(dataset, rows):
    """The images by the documented formula, in whole numbers."""
    colours = np.concatenate([rooms3d.palette()[rows[:, :3]], np.full((len(rows), 1, 3), 255)], axis=1).astype(np.int64)
    weights = dataset.weights[np.ravel_multi_index(tuple(rows[:, 3:].T), (8, 4, 15))].astype(np.int64)
    return (np.einsum("nhwk,nkc->nhwc", weights, colours) + 128) // 256


def test_keeps_the_contract(dataset):
    assert dataset.factors.names == ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    assert dataset.factors.sizes == (10, 10, 10, 8, 4, 15)
    assert dataset.factors.kinds == ("cyclic", "cyclic", "cyclic", "ordinal", "categorical", "ordinal")
    assert dataset.factors.size == 480_000
    assert dataset.weights.shape == (GEOMETRIES, 64, 64, 4)
    assert rooms3d.SOURCE.load is load
    assert isinstance(dataset, Dataset)


def test_weights_leave_room_for_every_colour(dataset):
    assert dataset.weights.sum(axis=-1, dtype=np.int64).max() <= 256


def test_render_is_the_documented_sum(dataset):
    rows = dataset.factors.draw(300, np.random.default_rng(1))
    images = dataset.render(rows)
    assert images.dtype == np.uint8
    assert images.shape == (300, 64, 64, 3)
    np.testing.assert_array_equal(images, compose(dataset, rows))
    np.testing.assert_array_equal(dataset.render(rows, seed=5), images)
    assert dataset.render(rows[:0]).shape == (0, 64, 64, 3)


def test_images_take_indices_of_any_layout(dataset):
    index = torch.randint(480_000, (5, 3), generator=torch.Generator().manual_seed(0))
    images = dataset.images_on("cpu")(index.T, Stream.of([1, 2, 3]))
    assert images.shape == (3, 5, 64, 64, 3)
    rows = dataset.factors.rows(index.T.flatten().numpy())
    np.testing.assert_array_equal(images.flatten(0, 1).numpy(), dataset.render(rows))


def test_kernel_writes_the_bytes_of_pytorch(dataset, monkeypatch):
    emulate(monkeypatch, rooms3d_kernel)
    images = dataset.images_on("cpu")
    for shape in ((2, 3), (3, 0)):
        index = torch.randint(480_000, shape, generator=torch.Generator().manual_seed(0))
        expected = images(index, Stream.of([0] * shape[0]))
        found = torch.empty_like(expected)
        rooms3d_kernel.render(images.weights, images.colours, index, found)
        assert torch.equal(found, expected)


def test_wrong_rows_are_named(dataset):
    with pytest.raises(FactorError, match="scale = 8; scale goes from 0 to 7"):
        dataset.render([[0, 0, 0, 8, 0, 0]])


@pytest.mark.parametrize(("factor", "material"), [(0, FLOOR), (1, WALL), (2, OBJECT)])
def test_a_hue_changes_its_own_material_alone(dataset, factor, material):
    rows = dataset.factors.draw(40, np.random.default_rng(2))
    other = rows.copy()
    other[:, factor] = (other[:, factor] + 1) % 10
    changed = (dataset.render(rows) != dataset.render(other)).any(axis=-1)
    weights = dataset.weights[dataset.factors.index(rows) % GEOMETRIES][..., material]
    assert not changed[weights == 0].any()
    assert changed[weights > 20].all()
    assert (changed.sum(axis=(1, 2)) > 100).all()


def test_palette_has_ten_distinct_hues():
    colours = rooms3d.palette().astype(int)
    apart = np.abs(colours[:, None] - colours).sum(axis=-1)
    assert apart[~np.eye(10, dtype=bool)].min() > 60


def test_object_grows_with_scale_and_stays_in_view(grid):
    covered = (grid[..., OBJECT] > 0).sum(axis=(-1, -2))
    assert (np.diff(covered, axis=0) > 20).all()
    ever = (grid[..., OBJECT] > 0).any(axis=(0, 1, 2))
    rows, columns = np.nonzero(ever)
    assert min(rows.min(), columns.min(), 63 - rows.max(), 63 - columns.max()) >= 8


def test_orientation_moves_the_corner_of_the_room(grid):
    top = grid[0, 2, :, 0, :, WALL]
    corner = np.abs(np.diff(top, axis=1)).argmax(axis=1)
    assert (np.diff(corner) >= 2).all()


def test_neighbouring_values_differ_in_many_pixels(grid):
    def differing(a, b):
        """Pixels in which more than a tenth of the light changes."""
        return (np.abs(a - b).sum(axis=-1) > 25).sum(axis=(-1, -2)).min()

    assert differing(grid[1:], grid[:-1]) > 100
    assert differing(grid[:, :, 1:], grid[:, :, :-1]) > 100
    for first in range(4):
        for second in range(first):
            assert differing(grid[:, first], grid[:, second]) > 100


def test_all_images_are_distinct(dataset):
    """One pixel in sixteen of every image, computed as documented, already tells all 480,000 apart."""
    colours = rooms3d.colour_table().numpy().transpose(0, 2, 1).reshape(3000, 4).astype(np.float32)
    weights = dataset.weights[:, 2::4, 2::4].reshape(GEOMETRIES, -1, 4).transpose(0, 2, 1).astype(np.float32)
    multipliers = np.random.default_rng(3).integers(2**63, size=96, dtype=np.uint64) | np.uint64(1)
    prints = set()
    for weight in weights:
        values = (colours @ weight * np.float32(1 / 256) + np.float32(0.5)).astype(np.uint8)
        words = values.reshape(1000, 768).view(np.uint64)
        mixed = (words ^ (words >> np.uint64(29))) * multipliers
        prints.update((mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64).tolist())
    assert len(prints) == 480_000


def refuse():
    raise AssertionError("the geometry was cast though the cache is whole")


def test_cache_is_read_back(dataset, root, monkeypatch):
    monkeypatch.setattr(rooms3d, "cast_geometry", refuse)
    np.testing.assert_array_equal(load(root).weights, dataset.weights)
    assert [path.name for path in (root / "rooms3d").iterdir()] == [GEOMETRY_FILE]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "foreign"])
def test_damaged_cache_is_mended(dataset, root, tmp_path, monkeypatch, damage):
    whole = (root / "rooms3d" / GEOMETRY_FILE).read_bytes()
    flipped = bytearray(whole)
    flipped[5_000_000] ^= 4
    path = tmp_path / "rooms3d" / GEOMETRY_FILE
    path.parent.mkdir()
    path.write_bytes({"truncated": whole[:-1], "flipped": bytes(flipped), "empty": b"", "foreign": b"hello"}[damage])
    monkeypatch.setattr(rooms3d, "cast_geometry", lambda: dataset.weights.copy())
    with pytest.warns(UserWarning, match="damaged"):
        np.testing.assert_array_equal(load(tmp_path).weights, dataset.weights)
    assert path.read_bytes() == whole
    assert [file.name for file in path.parent.iterdir()] == [GEOMETRY_FILE]


def test_unwritable_folder_is_a_warning(dataset, tmp_path, monkeypatch):
    (tmp_path / "rooms3d").write_text("a file where the folder should be")
    monkeypatch.setattr(rooms3d, "cast_geometry", lambda: dataset.weights)
    with pytest.warns(UserWarning, match="cannot keep rooms3d in"):
        loaded = load(tmp_path)
    np.testing.assert_array_equal(loaded.weights, dataset.weights)


def test_other_arithmetic_is_a_warning(dataset, tmp_path, monkeypatch):
    other = dataset.weights.copy()
    other[7, 3, 3, 1] ^= 1
    monkeypatch.setattr(rooms3d, "cast_geometry", lambda: other)
    for _ in range(2):
        with pytest.warns(UserWarning, match="single grey levels"):
            loaded = load(tmp_path)
        np.testing.assert_array_equal(loaded.weights, other)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 1), (3, 64), (70, 64)])
@pytest.mark.parametrize("tf32", [False, True])
def test_cuda_renders_the_same_bytes(dataset, shape, tf32, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", tf32)
    index = torch.randint(480_000, shape, generator=torch.Generator().manual_seed(0))
    stream = Stream.of([0] * shape[0], device="cuda")
    expected = dataset.images_on("cpu")(index, stream)
    images = dataset.images_on("cuda")
    assert torch.equal(images(index.cuda(), stream).cpu(), expected)
    plain = torch.empty_like(expected, device="cuda")
    rooms3d.render_chunks(images.weights, images.colours, index.cuda(), plain)
    assert torch.equal(plain.cpu(), expected)
    assert images(index.cuda()[:, :0], stream).shape == (shape[0], 0, 64, 64, 3)


@pytest.mark.gpu
def test_rendering_can_be_captured_in_a_graph(dataset):
    images = dataset.images_on("cuda")
    index = torch.zeros(2, 8, dtype=torch.int64, device="cuda")
    stream = Stream.of([0, 0], device="cuda")
    images(index, stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = images(index, stream)
    other = torch.randint(480_000, (2, 8), generator=torch.Generator().manual_seed(1))
    index.copy_(other)
    graph.replay()
    assert torch.equal(captured.cpu(), dataset.images_on("cpu")(other, stream))
