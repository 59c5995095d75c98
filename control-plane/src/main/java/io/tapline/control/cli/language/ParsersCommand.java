package io.tapline.control.cli.language;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.DoubleNode;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserArgumentInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.Names;
import io.tapline.control.cli.console.Numbers;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.options.PluginOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline parsers}: lists the parsers and the fields of their tuples. */
@Command(
    name = "parsers",
    description = "Lists the parsers, or shows the tuples of one: fields, types, units, options.")
public final class ParsersCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Console console;

  @Parameters(paramLabel = "NAME", arity = "0..1", description = "Show this parser.")
  private String name;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  @Mixin private PluginOptions plugins;

  ParsersCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    String catalogueJson = plugins.installation().catalogueJson();
    Catalogue catalogue = Catalogue.fromJson(catalogueJson);
    if (name == null) {
      if (json) {
        console.json(MAPPER.readTree(catalogueJson));
      } else {
        console.print(list(catalogue));
      }
    } else {
      ParserInfo parser = Names.find(name, "parser", catalogue.parser(name), catalogue.names());
      JsonNode node = parserJson(catalogueJson, parser);
      if (json) {
        console.json(node);
      } else {
        console.print(describe(parser, node));
      }
    }
    return 0;
  }

  private static JsonNode parserJson(String catalogueJson, ParserInfo parser) throws Exception {
    for (JsonNode one : MAPPER.readTree(catalogueJson).path("parsers")) {
      if (one.path("name").asText().equals(parser.name())) {
        return one;
      }
    }
    throw new CommandException("no parser " + parser.name() + " in the catalogue");
  }

  private static String list(Catalogue catalogue) {
    TextTable table = TextTable.ofText("parser", "layer", "tuples");
    for (ParserInfo parser : catalogue.parsers()) {
      table.add(List.of(parser.name(), lower(parser.layer()), parser.description()));
    }
    return table.render("") + "\ntapline parsers NAME shows the fields of one.\n";
  }

  private static String describe(ParserInfo parser, JsonNode node) {
    TextTable table = TextTable.ofText("field", "type", "unit", "description");
    for (FieldInfo field : parser.fields()) {
      String description =
          field.description() + (field.optional() ? "; \"-\" if it was not observed" : "");
      table.add(List.of(field.name(), lower(field.type()), field.unit(), description));
    }
    return "%s: %s\n\n%s\n%stop-k ranks %s.\n%s%s%s%s"
        .formatted(
            parser.name(),
            parser.description(),
            table.render("  "),
            arguments(parser),
            String.join(", ", parser.mainFields()),
            interval(parser),
            traffic(parser),
            options(parser, node.path("fields")),
            example(parser, node.path("example")));
  }

  private static String arguments(ParserInfo parser) {
    if (parser.arguments().isEmpty()) {
      return "";
    }
    TextTable table = TextTable.ofText("argument", "default", "value", "description");
    for (ParserArgumentInfo argument : parser.arguments()) {
      table.add(
          List.of(
              argument.name(),
              argument.asWritten(argument.defaultValue()),
              argument.expected(),
              argument.description()));
    }
    return table.render("  ") + "\n";
  }

  private static String interval(ParserInfo parser) {
    if (parser.intervalNs() == 0) {
      return "";
    }
    String often = Numbers.plain(DoubleNode.valueOf(parser.intervalNs() / 1e6)) + " ms";
    String chosen = parser.intervalArgument().map(" or once per %s="::formatted).orElse("");
    return "It emits once per %s%s, so windows can't be shorter.\n".formatted(often, chosen);
  }

  private static String traffic(ParserInfo parser) {
    if (parser.counted()) {
      return "It emits no tuples: triggers in the monitor count its packets (SAMPLE *).\n";
    }
    if (parser.queues()) {
      return "It measures all packets in the queues named by AT or with taps; it needs SAMPLE *.\n";
    }
    return parser.allTraffic() ? "It must see all packets: FROM * TO * and SAMPLE *.\n" : "";
  }

  /**
   * Describes the options that a query may set for the parser, with the fields that they apply to
   * and the kinds of these fields' strings; empty if there are none.
   */
  private static String options(ParserInfo parser, JsonNode fields) {
    List<String> texts = new ArrayList<>();
    for (JsonNode field : fields) {
      String kind = field.path("text").asText("");
      if (!kind.isEmpty()) {
        String name = field.path("name").asText();
        texts.add(kind.equals("plain") ? name : name + " (" + kind + ")");
      }
    }
    return texts.isEmpty()
        ? ""
        : "PARSE %s(field=FORM) changes how strings are emitted; FORM is template, path, hash or omit. Fields: %s.\n"
            .formatted(parser.name(), String.join(", ", texts));
  }

  private static String example(ParserInfo parser, JsonNode values) {
    List<FieldInfo> fields = own(parser);
    if (values.isEmpty() || values.size() != fields.size()) {
      return "";
    }
    StringBuilder text = new StringBuilder("\nA tuple, for example:\n");
    for (int i = 0; i < fields.size(); i++) {
      text.append("  %s=%s\n".formatted(fields.get(i).name(), values.get(i).asText()));
    }
    return text.toString();
  }

  private static List<FieldInfo> own(ParserInfo parser) {
    return parser.fields().stream().filter(field -> !field.common()).toList();
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
