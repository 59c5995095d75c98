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

/** The host's socket buffers, which Open vSwitch's raw sockets need larger while it runs. */
final class KernelSettings {
  /** At the defaults packets are lost that no counter shows. */
  private static final List<String> FILES =
      List.of("/proc/sys/net/core/rmem_default", "/proc/sys/net/core/wmem_default");

  private static final String BYTES = "8388608";

  private KernelSettings() {}

  /** As they are; none where they can't be told, as in a container. */
  static Map<String, String> now() {
    Map<String, String> values = new TreeMap<>();
    for (String file : FILES) {
      try {
        values.put(file, read(file));
      } catch (IOException e) {
        // Then it stays as it is.
      }
    }
    return values;
  }

  /** These files give their value to the first read only, however few bytes that takes. */
  private static String read(String file) throws IOException {
    byte[] text = new byte[64];
    try (InputStream in = new FileInputStream(file)) {
      int length = in.read(text);
      return new String(text, 0, Math.max(0, length), StandardCharsets.US_ASCII).strip();
    }
  }

  /** Only where they are smaller. */
  static void raise(Map<String, String> before) {
    before.forEach(
        (file, value) -> {
          if (Long.parseLong(value) < Long.parseLong(BYTES)) {
            write(file, BYTES);
          }
        });
  }

  /** Only if nobody has set them since. */
  static void restore(Map<String, String> before) {
    Map<String, String> now = now();
    before.forEach(
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
      // In a container it is the host's: then Open vSwitch loses packets under load.
    }
  }
}
