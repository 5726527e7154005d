"""Where there is no device, the emulated one takes its place before ``gpu`` is imported."""

from tests.gpu.emulator import place  # noqa: F401
