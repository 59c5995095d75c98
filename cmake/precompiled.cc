// CMake can attach precompiled headers only to a target with sources. This file serves no other purpose.
