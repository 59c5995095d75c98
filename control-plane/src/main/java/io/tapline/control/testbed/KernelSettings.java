package io.tapline.control.testbed;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The host's default socket buffer sizes. While Open vSwitch runs, its raw sockets need larger
 * ones.
 */
final class KernelSettings {
  /** Files of the settings. With the kernel's defaults, packets are lost without being counted. */
  private static final List<String> FILES =
      List.of("/proc/sys/net/core/rmem_default", "/proc/sys/net/core/wmem_default");

  private static final String BYTES = "8388608";

  private KernelSettings() {}

  /** Returns the current values by file, without those that can't be read, as in a container. */
  static Map<String, String> now() {
    Map<String, String> values = new TreeMap<>();
    for (String file : FILES) {
      try {
        values.put(file, read(file));
      } catch (IOException e) {
        // The setting then remains unchanged.
      }
    }
    return values;
  }

  /**
   * Reads a file in one call: these files return data only for the first read, even if that was a
   * short one.
   */
  private static String read(String file) throws IOException {
    byte[] text = new byte[64];
    try (InputStream in = new FileInputStream(file)) {
      int length = in.read(text);
      return new String(text, 0, Math.max(0, length), StandardCharsets.US_ASCII).strip();
    }
  }

  /** Raises the settings whose previous values are too small. */
  static void raise(Map<String, String> previousSettings) {
    previousSettings.forEach(
        (file, value) -> {
          if (Long.parseLong(value) < Long.parseLong(BYTES)) {
            write(file, BYTES);
          }
        });
  }

  /** Restores the values that no other program has changed since. */
  static void restore(Map<String, String> previousSettings) {
    Map<String, String> now = now();
    previousSettings.forEach(
        (file, value) -> {
          if (BYTES.equals(now.get(file))) {
            write(file, value);
          }
        });
  }

  private static void write(String file, String value) {
    try {
      Files.writeString(Path.of(file), value);
    } catch (IOException e) {
      // In a container the setting is the host's: Open vSwitch then loses packets under load.
    }
  }
}
