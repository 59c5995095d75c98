"""Describes the machine on which a run takes place."""
import os
import platform


def describe_machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores of {model}, load {os.getloadavg()[0]:.1f} at the beginning"
