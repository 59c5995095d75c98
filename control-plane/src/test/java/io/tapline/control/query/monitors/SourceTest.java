package io.tapline.control.query.monitors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tapline.control.Tap;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class SourceTest {
  private static Source source(List<Path> files, String... taps) {
    return Source.taps(files, Stream.of(taps).map(Tap::new).toList(), "max");
  }

  @Test
  void tapsOfFilesAreReadToTheirEnd() {
    Source source = source(List.of(Path.of("a")), "sw1:2:arrivals=b.pcapng#in", "sw1=./c");
    assertFalse(source.live());
    assertEquals(
        List.of(
            "--speed",
            "max",
            "--pcap",
            "a",
            "--tap",
            "sw1:2:arrivals=b.pcapng#in",
            "--tap",
            "sw1=./c"),
        source.flags());
  }

  @Test
  void tapsOfInterfacesAreLive() {
    Source source = source(List.of(), "sw1=mon0", "sw2=mon1.7");
    assertTrue(source.live());
    assertEquals(List.of("--tap", "sw1=mon0", "--tap", "sw2=mon1.7"), source.flags());
  }

  @Test
  void filesAndInterfacesDoNotMix() {
    assertThrows(IllegalArgumentException.class, () -> source(List.of(), "sw1=mon0", "sw2=a.pcap"));
    assertThrows(IllegalArgumentException.class, () -> source(List.of(Path.of("a")), "sw1=mon0"));
    assertThrows(IllegalArgumentException.class, () -> source(List.of()));
  }
}
