"""A small ray caster: one solid on the floor in front of a room's corner, under one lamp with soft shadows.

It returns not an image but how much of each material a pixel shows. Light only scales a material's colour or
adds white, so a pixel is linear in the colours: floor weight × floor colour + wall weight × wall colour + object weight
× object colour + white weight × white. The weights depend only on the solid and the camera, so a scene is cast once
for all colours. Shading acts on display values directly, because a gamma curve would break linearity.

The room: the floor is z = 0, the walls are x = −WALL_DISTANCE and y = −WALL_DISTANCE with a white skirting board, the
solid stands on the origin, and the camera orbits the vertical axis with the solid always in its middle. Vectors are
component-first, (3, r) for r rays, which keeps each component contiguous. Per ray there are only sums, products,
quotients and square roots of doubles, all correctly rounded by IEEE 754, so that every machine gets the same scene.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MATERIALS = ("floor", "wall", "object", "white")
FLOOR, WALL, OBJECT, WHITE = range(4)

WALL_DISTANCE = 2.8
SKIRTING_HEIGHT = 0.22

CAMERA_DISTANCE = 9.0
CAMERA_ELEVATION = math.radians(22.0)
CAMERA_TARGET = (0.0, 0.0, 1.05)
HALF_VIEW = math.tan(math.radians(15.0))
"""Half the picture's width at distance 1 from the camera."""

LAMP = (5.6, 1.4, 6.2)
LAMP_SIDE = 1.2
AMBIENT, DIFFUSE = 0.46, 0.52
"""Their sum, the maximum brightness of a surface, is below one to leave room for white highlights."""
HIGHLIGHT = 0.6
HIGHLIGHT_DOUBLINGS = 5
"""The highlight falls off with the 2⁵ = 32nd power of the cosine."""


@dataclass(frozen=True)
class Rays:
    """r rays: origins (3, r), or (3, 1) if all start at one point, and unit directions (3, r)."""

    origin: Floats
    direction: Floats


class Solid(ABC):
    """A convex body that stands on the origin. Every field is a length."""

    def scaled(self, scale: float) -> Self:
        return type(self)(*(scale * length for length in astuple(self)))  # pyright: ignore[reportArgumentType]

    @abstractmethod
    def span(self, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """The t at which each ray origin + t·direction enters and leaves; where it misses, enters ≤ leaves is false."""

    @abstractmethod
    def normal(self, points: Floats) -> Floats:
        """Outward unit normals at points of the surface."""

    def hit(self, origin: Floats, direction: Floats) -> Floats:
        """The t at which each ray first meets the body ahead of its origin, infinite if it never does."""
        enters, leaves = self.span(origin, direction)
        return np.where((enters <= leaves) & (leaves > 0), enters, np.inf)

    def met_by(self, rays: Rays) -> tuple[NDArray[np.int64], Floats]:
        """Which rays meet the body and how far along they do."""
        distance = self.hit(rays.origin, rays.direction)
        met = np.flatnonzero(np.isfinite(distance))
        return met, distance[met]


@dataclass(frozen=True)
class Cube(Solid):
    """A cube with faces parallel to the walls."""

    edge: float

    def span(self, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
        half = self.edge / 2
        across_x = _slab(origin[0], direction[0], -half, half)
        across_y = _slab(origin[1], direction[1], -half, half)
        return _meet(_meet(across_x, across_y), _slab(origin[2], direction[2], 0.0, self.edge))

    def normal(self, points: Floats) -> Floats:
        from_centre = points - _column((0.0, 0.0, self.edge / 2))
        distance = np.abs(from_centre)
        face = np.arange(3)[:, None] == distance.argmax(axis=0)
        return np.where(face, np.sign(from_centre), 0.0)


@dataclass(frozen=True)
class Cylinder(Solid):
    """An upright cylinder."""

    radius: float
    length: float

    def span(self, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
        return _meet(_tube(origin, direction, self.radius), _slab(origin[2], direction[2], 0.0, self.length))

    def normal(self, points: Floats) -> Floats:
        x, y, z = points
        from_axis, from_middle = np.sqrt(x * x + y * y), z - self.length / 2
        # A point belongs to an end where it is closer to the end's plane than to the tube.
        end = np.abs(np.abs(from_middle) - self.length / 2) < np.abs(from_axis - self.radius)
        return np.where(end, [0 * x, 0 * y, np.sign(from_middle)], [x / from_axis, y / from_axis, 0 * z])


@dataclass(frozen=True)
class Sphere(Solid):
    """A ball."""

    radius: float

    def span(self, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
        return _ball(origin, direction, self.radius, self.radius)

    def normal(self, points: Floats) -> Floats:
        return _unit(points - _column((0.0, 0.0, self.radius)))


@dataclass(frozen=True)
class Capsule(Solid):
    """An upright cylinder with a half ball on either end; `length` includes both."""

    radius: float
    length: float

    def span(self, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
        low, high = self.radius, self.length - self.radius
        tube = _meet(_tube(origin, direction, self.radius), _slab(origin[2], direction[2], low, high))
        balls = (_ball(origin, direction, self.radius, low), _ball(origin, direction, self.radius, high))
        return _join(_join(tube, balls[0]), balls[1])

    def normal(self, points: Floats) -> Floats:
        axis = np.zeros_like(points)
        axis[2] = np.clip(points[2], self.radius, self.length - self.radius)
        return _unit(points - axis)


@dataclass(frozen=True)
class View:
    """The rays from the camera at one orbit angle, those from where they meet the empty room to the lamp, and the
    material weights (4, r) of these points in light and in shadow.

    Subsample k of every pixel sees its own point of the square lamp, so that a pixel's average has both smooth edges
    and soft shadows at the price of one shadow ray each.
    """

    subsamples: int
    lamp: Floats
    sight: Rays
    light: Rays
    lit: Floats
    unlit: Floats

    @classmethod
    def at(cls, degrees: float, side: int = 64, subsamples: int = 4) -> View:
        """The view from `degrees` off the room's diagonal in a picture of side × side pixels."""
        camera, direction = camera_rays(degrees, side, subsamples)
        lamp = np.repeat(lamp_points(subsamples), side * side, axis=1)
        to_floor = _plane(camera[2], direction[2], 0.0)
        to_walls = [_plane(camera[axis], direction[axis], -WALL_DISTANCE) for axis in range(2)]
        to_wall = np.minimum(*to_walls)
        points = camera + np.minimum(to_floor, to_wall) * direction
        to_lamp = _unit(lamp - points)
        on_floor = to_floor < to_wall
        on_skirting = ~on_floor & (points[2] < SKIRTING_HEIGHT)
        on_object = np.zeros_like(on_floor)
        materials = np.stack([on_floor, ~on_floor & ~on_skirting, on_object, on_skirting]).astype(np.float64)
        facing = np.where(on_floor, to_lamp[2], np.where(to_walls[0] < to_walls[1], to_lamp[0], to_lamp[1]))
        lit = materials * (AMBIENT + DIFFUSE * np.maximum(facing, 0.0))
        return cls(subsamples, lamp, Rays(camera, direction), Rays(points, to_lamp), lit, AMBIENT * materials)


def camera_rays(degrees: float, side: int, subsamples: int) -> tuple[Floats, Floats]:
    """The camera's position (3, 1) and unit directions (3, r) through each pixel's subsamples, top left first.

    Rays are ordered by subsample, then by pixel.
    """
    azimuth = math.radians(45.0 + degrees)
    level, rise = math.cos(CAMERA_ELEVATION), math.sin(CAMERA_ELEVATION)
    outward = _column([level * math.cos(azimuth), level * math.sin(azimuth), rise])
    right = _column([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up = _column([-rise * math.cos(azimuth), -rise * math.sin(azimuth), level])
    count = side * subsamples
    steps = ((np.arange(count) + 0.5) / count * 2 - 1).reshape(side, subsamples).T
    down, across = np.broadcast_arrays(steps[:, None, :, None], steps[None, :, None, :])
    direction = _unit(HALF_VIEW * (across.reshape(-1) * right - down.reshape(-1) * up) - outward)
    return _column(CAMERA_TARGET) + CAMERA_DISTANCE * outward, direction


def lamp_points(subsamples: int) -> Floats:
    """The point of the lamp, a horizontal square, that each subsample sees: (3, s), every cell of the square once."""
    count = subsamples**2
    # Any odd multiplier visits every cell of a power of two once; 7 keeps neighbours in the pixel apart on the lamp.
    cell = 7 * np.arange(count) % count
    offset = LAMP_SIDE * ((np.stack([cell // subsamples, cell % subsamples]) + 0.5) / subsamples - 0.5)
    return _column(LAMP) + np.concatenate([offset, np.zeros((1, count))])


def cast(view: View, solid: Solid) -> Floats:
    """The weight of each material in each pixel, (p, 4), between 0 and 1 and with a sum below 1."""
    weights = view.lit.copy()
    shadowed, _ = solid.met_by(view.light)
    weights[:, shadowed] = view.unlit.take(shadowed, axis=1)
    seen, distance = solid.met_by(view.sight)
    direction = view.sight.direction.take(seen, axis=1)
    points = view.sight.origin + distance * direction
    to_lamp = _unit(view.lamp.take(seen, axis=1) - points)
    weights[:, seen] = _object_weights(solid.normal(points), to_lamp, direction)
    return weights.reshape(len(MATERIALS), view.subsamples**2, -1).mean(axis=1).T


def _object_weights(normal: Floats, to_lamp: Floats, direction: Floats) -> Floats:
    """Lambert's cosine law plus Blinn and Phong's highlight, blended towards white so that weights never exceed one."""
    facing = np.maximum(_dot(normal, to_lamp), 0.0)
    # Ambient light comes mostly from above: surfaces that face down are darker.
    shade = AMBIENT * (0.85 + 0.15 * normal[2]) + DIFFUSE * facing
    gloss = np.maximum(_dot(normal, _unit(to_lamp - direction)), 0.0) * (facing > 0)
    for _ in range(HIGHLIGHT_DOUBLINGS):
        gloss = gloss * gloss
    white = HIGHLIGHT * gloss
    weights = np.zeros((len(MATERIALS), *shade.shape))
    weights[OBJECT], weights[WHITE] = shade * (1 - white), white
    return weights


def _column(vector: ArrayLike) -> Floats:
    return np.asarray(vector, dtype=np.float64)[:, None]


def _dot(a: Floats, b: Floats) -> Floats:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _unit(vectors: Floats) -> Floats:
    return vectors / np.sqrt(_dot(vectors, vectors))


def _plane(origin: Floats, direction: Floats, level: float) -> Floats:
    """Where rays meet a plane across one axis, infinite where they lead away from it."""
    with np.errstate(divide="ignore"):
        t = (level - origin) / direction
    return np.where(direction < 0, t, np.inf)


def _slab(origin: Floats, direction: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (low - origin) / direction, (high - origin) / direction
    return np.minimum(first, second), np.maximum(first, second)


def _quadric(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """The interval where a·t² + 2·b·t + c ≤ 0; NaN if there is none."""
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b * b - a * c)
    return (-b - root) / a, (-b + root) / a


def _tube(origin: Floats, direction: Floats, radius: float) -> tuple[Floats, Floats]:
    # The lower bound on a avoids 0 / 0 for rays parallel to the tube, which are always or never inside it.
    a = np.maximum(direction[0] * direction[0] + direction[1] * direction[1], 1e-200)
    b = origin[0] * direction[0] + origin[1] * direction[1]
    return _quadric(a, b, origin[0] * origin[0] + origin[1] * origin[1] - radius**2)


def _ball(origin: Floats, direction: Floats, radius: float, level: float) -> tuple[Floats, Floats]:
    from_centre = origin - _column((0.0, 0.0, level))
    c = _dot(from_centre, from_centre) - radius**2
    return _quadric(_dot(direction, direction), _dot(from_centre, direction), c)


def _meet(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.maximum(a[0], b[0]), np.minimum(a[1], b[1])


def _join(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The span of a convex union: from the first entry of the parts that are met to the last exit."""
    a_met, b_met = a[0] <= a[1], b[0] <= b[1]
    enters = np.minimum(np.where(a_met, a[0], np.inf), np.where(b_met, b[0], np.inf))
    return enters, np.maximum(np.where(a_met, a[1], -np.inf), np.where(b_met, b[1], -np.inf))
