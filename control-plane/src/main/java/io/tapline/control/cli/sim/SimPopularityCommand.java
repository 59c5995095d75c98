package io.tapline.control.cli.sim;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.sim.placement.Plot;
import io.tapline.sim.streams.PopularityExperiment;
import io.tapline.sim.streams.PopularityExperiment.Minute;
import io.tapline.sim.streams.PopularityExperiment.Popularity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline sim popularity}: NetAlytics' Figure 16. */
@Command(
    name = "popularity",
    description =
        "Simulates the popularity of the second and third URL while the hot set shifts (Figure 16).")
final class SimPopularityCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Console console;

  @Option(
      names = "--minutes",
      paramLabel = "N",
      defaultValue = "60",
      description = "Simulated minutes (default ${DEFAULT-VALUE}).")
  private int minutes;

  @Option(
      names = "--requests",
      paramLabel = "N",
      defaultValue = "30000",
      description = "Requests a minute (default ${DEFAULT-VALUE}).")
  private int requests;

  @Option(
      names = "--keys",
      paramLabel = "N",
      defaultValue = "100000",
      description =
          "Number of URLs, whose popularity follows Zipf's law (default ${DEFAULT-VALUE}).")
  private int keys;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "The same seed gives the same requests (default ${DEFAULT-VALUE}).")
  private long seed;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Write CSV and SVG files to this folder.")
  private Path folder;

  @Option(names = "--json", description = "Print minutes as JSON lines.")
  private boolean json;

  SimPopularityCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    if (minutes < 1 || requests < 100 || keys < 100) {
      throw new UsageException("--minutes must be at least 1, --requests and --keys at least 100");
    }
    PopularityExperiment experiment = new PopularityExperiment(minutes, requests, keys, seed);
    Popularity popularity;
    try (EmbeddedServices services = EmbeddedServices.start()) {
      popularity = experiment.run(services.endpoints(), services.folder());
    }
    print(popularity);
    if (folder != null) {
      Files.createDirectories(folder);
      write("popularity.csv", csv(popularity));
      write("popularity.svg", svg(popularity));
    }
    return 0;
  }

  private void print(Popularity popularity) {
    TextTable table =
        TextTable.ofText(
            "minute", popularity.second(), popularity.third(), "first", "second", "third");
    for (Minute minute : popularity.minutes()) {
      if (json) {
        console.json(MAPPER.valueToTree(minute));
      } else {
        table.add(
            List.of(
                "" + minute.minute(),
                percent(minute.second()),
                percent(minute.third()),
                minute.mostKey(),
                minute.secondKey(),
                minute.thirdKey()));
      }
    }
    if (!json) {
      console.line(table.render(""));
    }
  }

  private static String csv(Popularity popularity) {
    return popularity.minutes().stream()
        .map(
            minute ->
                "%d,%s,%s,%s,%s,%s\n"
                    .formatted(
                        minute.minute(),
                        percent(minute.second()),
                        percent(minute.third()),
                        minute.mostKey(),
                        minute.secondKey(),
                        minute.thirdKey()))
        .collect(
            Collectors.joining(
                "",
                "minute,%s,%s,first,second,third\n"
                    .formatted(popularity.second(), popularity.third()),
                ""));
  }

  private static String svg(Popularity popularity) {
    return new Plot(
            "Popularity over time, 100 is the most popular", "minutes", "popularity of the minute")
        .line("second of all, " + popularity.second(), points(popularity, Minute::second), false)
        .line("third of all, " + popularity.third(), points(popularity, Minute::third), true)
        .svg();
  }

  private static List<Plot.Point> points(Popularity popularity, ToDoubleFunction<Minute> value) {
    return popularity.minutes().stream()
        .map(minute -> new Plot.Point(minute.minute(), value.applyAsDouble(minute), 0))
        .toList();
  }

  private void write(String name, String text) {
    try {
      Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new CommandException("can't write " + folder.resolve(name) + ": " + e.getMessage(), e);
    }
  }

  private static String percent(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }
}
