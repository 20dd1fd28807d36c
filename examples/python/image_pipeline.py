"""A photograph becomes a thumbnail with sharp edges: smaller by antialiasing, blurred, and the blur's difference added. The
pipeline is one program; each stage is a function of its own, and only what the next stage reads is ever held."""

import neap as np
from neap.scipy.signal import convolve2d


def photograph(n):  # rings, a gradient and a dark square, in three colours
    at = np.linspace(-1, 1, n)
    y, x = np.meshgrid(at, at, indexing="ij")
    rings, slope = 0.5 + 0.5 * np.cos(40 * (x * x + y * y)), 0.5 + 0.5 * x
    square = (np.maximum(np.abs(x - 0.3), np.abs(y + 0.2)) < 0.25).astype(np.float32)
    return np.stack([rings * (1 - square), slope * (1 - square), 0.5 + 0.25 * y], axis=2)


def gaussian(radius, deviation):
    one = np.exp(-((np.arange(-radius, radius + 1) / deviation) ** 2) / 2)
    return np.outer(one, one) / np.sum(one) ** 2


def thumbnail(image, size):
    small = np.image.resize(image, (size, size, 3), "lanczos3")

    def blur(plane):  # beyond its edges as at its edges
        return convolve2d(np.pad(plane, 3, mode="edge"), gaussian(3, 1.5), "valid")

    blurred = np.vmap(blur, in_axes=2, out_axes=2)(small)
    return np.clip(small + 0.8 * (small - blurred), 0.0, 1.0)


def main():
    image = photograph(1024)
    make = np.jit(lambda x: thumbnail(x, 128))
    small = make(image)

    # What must be true: colours stay, flat places stay flat, and the edge of the square is steeper than without the mask.
    plain = np.image.resize(image, (128, 128, 3), "lanczos3")
    before, after = (float(np.max(np.abs(np.diff(x[64, :, 1])))) for x in (plain, small))
    blue, blue_after = (float(np.mean(x, axis=(0, 1))[2]) for x in (image, small))
    print(f"blue {blue:.4f} before, {blue_after:.4f} after; steepest edge {before:.3f}, sharpened {after:.3f}")
    print(f"peak {np.format_bytes(make.last_plan().peak_bytes)}, of which the photograph is {np.format_bytes(image.nbytes)}")
    return abs(blue - blue_after) < 2e-3 and after > 1.2 * before


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
