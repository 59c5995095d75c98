package io.tapline.control.cli.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class ProgressTest {
  private final StringWriter written = new StringWriter();

  private Progress progress(boolean terminal) {
    return new Progress(new PrintWriter(written, true), terminal);
  }

  @Test
  void printsALinePerStageWithoutATerminal() {
    Progress progress = progress(false);
    progress.progress("starting", Double.NaN, 0, 0);
    progress.progress("reading packets", 0.25, 1000, 2_000_000);
    progress.progress("reading packets", 0.26, 1040, 2_100_000);
    progress.clear();
    assertThat(written.toString().lines())
        .containsExactly("starting…", "reading packets…  25 %  1,000 packets, 2.0 MB");
  }

  @Test
  void aStageEndsWithItsLastReport() {
    Progress progress = progress(false);
    progress.progress("reading packets", 0.25, 1000, 2_000_000);
    progress.progress("reading packets", 0.6, 2400, 4_800_000);
    progress.progress("reading packets", 1, 4000, 8_000_000);
    progress.progress("computing results", Double.NaN, 0, 0);
    progress.progress("computing results", Double.NaN, 0, 0);
    progress.finish();
    assertThat(written.toString().lines().map(line -> line.replaceFirst(" packets, .*", "")))
        .containsExactly(
            "reading packets…  25 %  1,000", "reading packets… 100 %  4,000", "computing results…");
  }

  @Test
  void onATerminalTheLineIsErasedBeforeOtherOutput() {
    Progress progress = progress(true);
    progress.progress("starting", Double.NaN, 0, 0);
    progress.warning("no hugepages");
    assertThat(written.toString())
        .isEqualTo("\r\u001b[Kstarting…\r\u001b[Kwarning: no hugepages\n");
  }

  @Test
  void aRateIsShownOnceItIsKnown() {
    assertThat(Progress.text("reading", 0.5, 4000, 0, 2000.4)).endsWith("  2,000 packets/s");
    assertThat(Progress.text("reading", 0.5, 4000, 0, Double.NaN)).endsWith("0.0 MB");
  }
}
