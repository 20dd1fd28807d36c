from ._neap.nn import *
