package io.tapline.control.query;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What a query looks at.
 *
 * @param files capture files, merged by time; empty for an interface
 * @param networkInterface its name; empty for files
 * @param speed of files: "max" or "1x", as fast as they were captured
 */
public record Source(List<Path> files, String networkInterface, String speed) {
  public Source {
    files = List.copyOf(files);
    if (files.isEmpty() == networkInterface.isEmpty()) {
      throw new IllegalArgumentException("a source is either files or an interface");
    }
  }

  public static Source files(List<Path> files, String speed) {
    return new Source(files, "", speed);
  }

  public static Source networkInterface(String name) {
    return new Source(List.of(), name, "max");
  }

  /** Whether it goes on without end, the same for everybody who looks. */
  boolean live() {
    return files.isEmpty();
  }

  /** The monitor's flags that say so. */
  List<String> flags() {
    if (live()) {
      return List.of("--interface", networkInterface);
    }
    List<String> flags = new ArrayList<>(List.of("--speed", speed));
    for (Path file : files) {
      flags.add("--pcap");
      flags.add(file.toString());
    }
    return flags;
  }
}
