package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests windows of a capture that begins and ends within a window. */
class PartialCaptureTest {
  private static final long START_MS = 1_795_204_780_000L;
  private static final int SNAPLEN = 65_535;
  private static final int NANOSECONDS = 0xa1b23c4d;

  /** Ethernet and IPv4 headers, and the SYN of a connection from 10.0.0.1 to 10.0.0.2:80. */
  private static final byte[] SYN =
      bytes(
          "020000000002 020000000001 0800"
              + "4500002800000000400666ce0a0000010a000002"
              + "9c4000500000000100000000500220000000 0000");

  @TempDir Path folder;

  private static byte[] bytes(String hexadecimal) {
    return HexFormat.of().parseHex(hexadecimal.replace(" ", ""));
  }

  @Test
  void theFirstAndTheLastWindowArePartial() throws Exception {
    assertThat(windows(capture(400, 900, 1_200, 2_500, 3_100), "w=1s, s=1s"))
        .containsExactly("0-1 partial 2", "1-2 1", "2-3 1", "3-4 partial 1");
  }

  @Test
  void theFirstWindowIsWholeIfTheCaptureBeginsWithIt() throws Exception {
    assertThat(windows(capture(0, 900, 1_200, 2_500), "w=1s, s=1s"))
        .containsExactly("0-1 2", "1-2 1", "2-3 partial 1");
  }

  @Test
  void slidingWindowsArePartialUntilTheyAreFull() throws Exception {
    assertThat(windows(capture(400, 1_200, 2_500, 3_500, 4_100), "w=2s, s=1s"))
        .containsExactly(
            "-1-1 partial 1", "0-2 partial 2", "1-3 2", "2-4 2", "3-5 partial 2", "4-6 partial 1");
  }

  @Test
  void tablesMarkPartialWindows() throws Exception {
    String tables =
        Cli.run("run", query("w=1s, s=1s"), "--pcap", capture(400, 1_200, 2_100).toString())
            .expectSuccess()
            .stdout();
    List<String> titles = tables.lines().filter(line -> line.startsWith("group-sum")).toList();
    assertThat(titles).hasSize(3);
    assertThat(titles.get(0)).endsWith("(partial: not captured from beginning to end)");
    assertThat(titles.get(1)).endsWith("UTC");
    assertThat(titles.get(2)).endsWith("(partial: not captured from beginning to end)");
  }

  private static String query(String window) {
    return "PARSE tcp_pkt_size FROM * TO *:80 SAMPLE * PROCESS (group-sum: by=packets, %s)"
        .formatted(window);
  }

  private static List<String> windows(Path capture, String window) {
    return Cli.run("run", query(window), "--pcap", capture.toString(), "--json")
        .expectSuccess()
        .json()
        .stream()
        .map(PartialCaptureTest::text)
        .toList();
  }

  /** Returns a row's window in seconds from {@link #START_MS}, its partial mark, and its value. */
  private static String text(JsonNode row) {
    return "%d-%d%s %d"
        .formatted(
            second(row, "window_start_ns"),
            second(row, "window_end_ns"),
            row.path("partial").asBoolean() ? " partial" : "",
            row.path("value").asLong());
  }

  private static long second(JsonNode row, String field) {
    return (row.get(field).asLong() / 1_000_000 - START_MS) / 1_000;
  }

  /**
   * Writes a capture with a packet at each of these times, given in milliseconds from {@link
   * #START_MS}.
   */
  private Path capture(int... timesMs) throws IOException {
    ByteBuffer file =
        ByteBuffer.allocate(24 + timesMs.length * (16 + SYN.length)).order(ByteOrder.LITTLE_ENDIAN);
    file.putInt(NANOSECONDS).putShort((short) 2).putShort((short) 4).putLong(0);
    file.putInt(SNAPLEN).putInt(1);
    for (int time : timesMs) {
      long ms = START_MS + time;
      file.putInt((int) (ms / 1_000)).putInt((int) (ms % 1_000) * 1_000_000);
      file.putInt(SYN.length).putInt(SYN.length).put(SYN);
    }
    return Files.write(folder.resolve("capture.pcap"), file.array());
  }
}
