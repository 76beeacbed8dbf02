"""Building an image in layers: Debian's root folder, the Python stack, Siflab's wheel, and the SIF file around them."""
