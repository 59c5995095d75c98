package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.results.HostNames;
import io.tapline.control.testbed.ShopFigures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline query shop-figures}. */
@Command(
    name = "shop-figures",
    description =
        "Writes Figures 9 to 11 of NetAlytics (Middleware'16, 7.1) from two queries over the web shop of testbed/three_tier.")
final class QueryShopFiguresCommand implements Callable<Integer> {
  /** Maximum number of rows to fetch; the shop has only seven pairs of connected hosts. */
  private static final int MAX_ROWS = 100;

  @Option(
      names = "--times",
      paramLabel = "ID",
      required = true,
      description =
          "ID of PARSE tcp_conn_time … PROCESS (diff-group: group=(src_ip, dst_ip)), without a window.")
  private String times;

  @Option(
      names = "--bytes",
      paramLabel = "ID",
      required = true,
      description =
          "ID of PARSE tcp_pkt_size … PROCESS (group-sum: group=(src_ip, dst_ip)), without a window.")
  private String bytes;

  @Mixin private ServerOption server;

  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      required = true,
      description = "YAML file with the addresses of client, proxy, app1, app2, db and cache.")
  private Path inventoryFile;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      required = true,
      description = "Folder for CSV and SVG files.")
  private Path folder;

  @Override
  public Integer call() {
    HostNames names = HostNames.instead(Installation.inventory(inventoryFile));
    ApiClient client = server.client();
    Map<String, String> files =
        new ShopFigures(names::of).of(rows(client, times), rows(client, bytes));
    try {
      Files.createDirectories(folder);
      for (Map.Entry<String, String> file : files.entrySet()) {
        Files.writeString(folder.resolve(file.getKey()), file.getValue());
      }
    } catch (IOException e) {
      throw new CommandException("--out " + folder + ": " + e, e);
    }
    return 0;
  }

  private static JsonNode rows(ApiClient client, String id) {
    String latest = "/results?processor=0&limit=" + MAX_ROWS;
    JsonNode rows = ofLastWindow(client.get(ApiClient.query(id, latest)).path("rows"));
    if (rows.isEmpty()) {
      throw new CommandException(id + " has no results yet: they arrive when the query ends");
    }
    return rows;
  }

  /**
   * Returns the rows of the last window. A query without windows writes snapshots with ever later
   * ends, of which the last is complete.
   */
  static JsonNode ofLastWindow(JsonNode rows) {
    ArrayNode last = ApiClient.MAPPER.createArrayNode();
    long lastNs = Long.MIN_VALUE;
    for (JsonNode row : rows) {
      long endNs = row.path("window_end_ns").asLong();
      if (endNs > lastNs) {
        last.removeAll();
        lastNs = endNs;
      }
      if (endNs == lastNs) {
        last.add(row);
      }
    }
    return last;
  }
}
