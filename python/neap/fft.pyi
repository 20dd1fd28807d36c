from ._neap.fft import *
