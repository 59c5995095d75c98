package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Moment;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline samples}: shows headers that a switch's taps captured (Planck, section 6.1). */
@Command(
    name = "samples",
    description = "Shows the latest headers that the taps of a switch captured.",
    footer = {
      "",
      "The nodes must name taps: tapline-multilog --tap edge1:2=mirror1, or --tap-names.",
      "Example: save the last 100 ms for Wireshark, an interface per port and side",
      "  tapline samples --switch edge1 --last 100ms --pcapng edge1.pcapng"
    })
public final class SamplesCommand implements Callable<Integer> {
  private static final Pattern NAME = Pattern.compile("[^\\p{Cntrl}\"\\\\:]{1,24}");

  private final Console console;

  @Option(
      names = "--switch",
      paramLabel = "NAME",
      required = true,
      description = "The switch, as its taps name it.")
  private String switchName;

  @Option(names = "--port", paramLabel = "NAME", description = "Only this port.")
  private String port;

  @Option(
      names = "--side",
      paramLabel = "SIDE",
      description = "Only one side of the port's queue: arrivals or departures.")
  private String side;

  @Option(
      names = "--last",
      paramLabel = "D",
      defaultValue = "1s",
      description = "Time span, until now or --to. Default: ${DEFAULT-VALUE}.")
  private String last;

  @Option(names = "--to", paramLabel = "T", description = "End of the span, " + Moment.HELP + ".")
  private String to;

  @Option(names = "--limit", paramLabel = "N", description = "Max number of rows. Default: 1000.")
  private Long limit;

  @Option(
      names = "--pcapng",
      paramLabel = "FILE",
      description = "Write the stored bytes of the frames to a file for Wireshark instead.")
  private Path file;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per row.")
  private boolean json;

  SamplesCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws IOException {
    ObjectNode request = request(Instant.now());
    HeaderOutput output = new HeaderOutput(console, json);
    if (file == null) {
      output.printRows(server.client(), request);
    } else {
      output.write(server.client(), request, file);
    }
    return 0;
  }

  private ObjectNode request(Instant now) {
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("filter", filter());
    long end = Moment.nanoseconds("--to", to == null ? "0s" : to, now);
    request.put("from_ns", Math.max(0, end - Moment.duration("--last", last)));
    if (to != null) {
      request.put("to_ns", end);
    }
    if (limit != null) {
      request.put("limit", limit);
    }
    return request;
  }

  private String filter() {
    if (side != null && !side.equals("arrivals") && !side.equals("departures")) {
      throw new UsageException("--side " + side + " is neither arrivals nor departures");
    }
    return comparison("switch", switchName)
        + (port == null ? "" : " && " + comparison("port", port))
        + (side == null ? "" : " && " + comparison("side", side));
  }

  private static String comparison(String field, String value) {
    if (!NAME.matcher(value).matches()) {
      throw new UsageException(
          "--%s %s: a name must have 1 to 24 characters, and no quotes, colons or backslashes"
              .formatted(field, value));
    }
    return "%s == \"%s\"".formatted(field, value);
  }
}
