from ._neap.random import *
