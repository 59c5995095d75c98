package io.tapline.control.cli.results;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.Inventory;
import io.tapline.control.cli.console.Console;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class WindowPrinterTest {
  @Test
  void theReasonForNoResultsDependsOnTheProcessors() throws Exception {
    String trigger = "{\"name\":\"trigger\",\"trigger\":{}}";
    String topK = "{\"name\":\"top-k\"}";
    assertThat(printedWithoutWindows(topK)).contains("no packet matched");
    assertThat(printedWithoutWindows(trigger)).contains("no trigger raised an alert");
    assertThat(printedWithoutWindows(trigger + "," + topK)).contains("no packet matched");
  }

  private static String printedWithoutWindows(String processors) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Console console = new Console(out, new ByteArrayOutputStream(), 0, false);
    ResultTables tables =
        new ResultTables(
            new ObjectMapper().readTree("{\"processors\":[" + processors + "]}"),
            HostNames.withInventory(Inventory.empty()),
            0);
    new WindowPrinter(console, tables, false).end();
    console.flush();
    return out.toString(StandardCharsets.UTF_8);
  }
}
