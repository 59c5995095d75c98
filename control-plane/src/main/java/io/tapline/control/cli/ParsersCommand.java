package io.tapline.control.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.Catalogue;
import io.tapline.compiler.FieldInfo;
import io.tapline.compiler.ParserInfo;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline parsers}: what exists, and what each one's tuples hold. */
@Command(
    name = "parsers",
    description = "Lists the parsers, or shows the tuples of one: fields, types and units.")
final class ParsersCommand implements Callable<Integer> {
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
      console.print(json ? MAPPER.readTree(catalogueJson) + "\n" : list(catalogue));
    } else {
      ParserInfo parser = Names.find(name, "parser", catalogue.parser(name), catalogue.names());
      console.print(json ? parserJson(catalogueJson, parser) + "\n" : describe(parser));
    }
    return 0;
  }

  private static String parserJson(String catalogueJson, ParserInfo parser) throws Exception {
    for (JsonNode one : MAPPER.readTree(catalogueJson).path("parsers")) {
      if (one.path("name").asText().equals(parser.name())) {
        return one.toString();
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

  private static String describe(ParserInfo parser) {
    TextTable table = TextTable.ofText("field", "type", "unit", "what it is");
    for (FieldInfo field : parser.fields()) {
      table.add(List.of(field.name(), lower(field.type()), field.unit(), field.description()));
    }
    return "%s: %s\n\n%s\ntop-k ranks %s.\n"
        .formatted(
            parser.name(),
            parser.description(),
            table.render("  "),
            String.join(", ", parser.mainFields()));
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
