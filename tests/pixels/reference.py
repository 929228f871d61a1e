"""The independent reference for decoded pixels: Pillow.

Reads a manifest, a line for each picture: file, frame, width, height and output, separated by tabs;
width and height 0 mean the picture's own. Writes RGB bytes, in the order of operations that a model's own
processor would use: profile to sRGB, alpha over white, orientation, bicubic.
"""

import io
import sys

try:
    from PIL import Image, ImageCms, ImageOps
except ImportError:
    sys.exit("Pillow is missing: apt-get install python3-pil")

SRGB = ImageCms.createProfile("sRGB")


def to_eight_bits(image):
    """Pillow keeps 16-bit grey as integers and has no rule for making bytes of them."""
    if image.mode not in ("I", "I;16", "I;16B"):
        return image
    pixels = [(value + 128) // 257 for value in image.convert("I").getdata()]
    result = Image.new("L", image.size)
    result.putdata(pixels)
    return result


def split_alpha(image):
    """Colour without alpha, and alpha or None."""
    if image.mode == "P" or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode == "1":
        image = image.convert("L")
    if image.mode == "LA":
        return image.getchannel("L"), image.getchannel("A")
    if image.mode == "RGBA":
        return image.convert("RGB"), image.getchannel("A")
    return image, None


def to_srgb(color, icc):
    if not icc:
        return color.convert("RGB")
    source = ImageCms.ImageCmsProfile(io.BytesIO(icc))
    return ImageCms.profileToProfile(
        color, source, SRGB, renderingIntent=ImageCms.Intent.PERCEPTUAL, outputMode="RGB"
    )


def decode(path, frame):
    image = Image.open(path)
    for i in range(frame + 1):
        image.seek(i)
    image.load()
    orientation = image.getexif().get(0x0112, 1)
    icc = image.info.get("icc_profile")
    color, alpha = split_alpha(to_eight_bits(image))
    rgb = to_srgb(color, icc)
    if alpha is not None:
        white = Image.new("RGB", rgb.size, (255, 255, 255))
        white.paste(rgb, mask=alpha)
        rgb = white
    rgb.getexif()[0x0112] = orientation
    return ImageOps.exif_transpose(rgb)


def main(manifest):
    with open(manifest, encoding="utf-8") as lines:
        for line in lines:
            path, frame, width, height, output = line.rstrip("\n").split("\t")
            rgb = decode(path, int(frame))
            if int(width) > 0:
                rgb = rgb.resize((int(width), int(height)), Image.Resampling.BICUBIC)
            with open(output, "wb") as out:
                out.write(rgb.tobytes())


main(sys.argv[1])
