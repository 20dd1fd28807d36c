from ._neap.memory import *
