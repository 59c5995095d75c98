package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.ParserArgument;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests arguments of parsers: {@code PARSE queue(delay=500us)}. */
class ParserArgumentsTest {
  private static final String ARGUMENTS =
      """
      [{"name": "delay", "type": "u64", "unit": "ns", "description": "Bound", "default": "500000",
        "min": 1000, "max": 1000000000},
       {"name": "share", "type": "f64", "unit": "", "description": "Of the queue",
        "default": "0.01", "min": 0, "max": 1},
       {"name": "room", "type": "u64", "unit": "bytes", "description": "Memory", "default": "1000000",
        "min": 1000, "max": 1000000000},
       {"name": "exact", "type": "bool", "unit": "", "description": "Keeps all", "default": "false"},
       {"name": "side", "type": "string", "unit": "", "description": "Which", "default": "both",
        "choices": ["both", "arrivals"]}]
      """;
  private static final Catalogue CATALOGUE = catalogue(ARGUMENTS);
  private static final String REST = " FROM * TO *:80 LIMIT 9s SAMPLE * PROCESS (top-k: k=3, w=1s)";

  /** Returns the fixtures' catalogue, with http_get renamed to queue and given these arguments. */
  private static Catalogue catalogue(String arguments) {
    String json = Fixtures.resource("parsers.json");
    return Catalogue.fromJson(
        json.replace(
            "\"name\": \"http_get\",",
            "\"name\": \"queue\", \"arguments\": %s,".formatted(arguments)));
  }

  private static CompileResult compile(String parse) {
    return Compiler.compile(parse + REST, CATALOGUE, Fixtures.INVENTORY, Fixtures.OPTIONS);
  }

  private static List<String> values(String parse) {
    CompileResult result = compile(parse);
    assertThat(result.errors()).isEmpty();
    return result.plan().orElseThrow().getArgumentsList().stream()
        .map(ParserArgument::getValue)
        .toList();
  }

  private static String error(String parse) {
    List<QueryError> errors = compile(parse).errors();
    assertThat(errors).hasSize(1);
    return errors.get(0).message() + " | " + errors.get(0).expected();
  }

  @Test
  void planHasTheValuesOfAllArguments() {
    assertThat(values("PARSE queue")).containsExactly("500000", "0.01", "1000000", "false", "both");
    assertThat(values("PARSE QUEUE(Share=0.50, delay=1.5ms, room=64kB, exact=TRUE, side=Arrivals)"))
        .containsExactly("1500000", "0.5", "64000", "true", "arrivals");
    assertThat(values("PARSE queue(room=5000)")).contains("5000");
    ParserArgument first = compile("PARSE queue").plan().orElseThrow().getArgumentsList().get(0);
    assertThat(first.getParser()).isEqualTo("queue");
    assertThat(first.getName()).isEqualTo("delay");
    assertThat(first.getUnit()).isEqualTo("ns");
  }

  @Test
  void argumentsAndFormsCanBeCombined() {
    CompileResult result = compile("PARSE queue(url=template, delay=2ms, host=hash)");
    assertThat(result.errors()).isEmpty();
    assertThat(result.plan().orElseThrow().getShapesList()).hasSize(2);
    assertThat(values("PARSE queue(url=template, delay=2ms)")).contains("2000000");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "delay=1s5 -> delay takes a duration, but '1s5' is a name | a duration from 1us to 1s",
        "delay=500 -> delay takes a duration, but '500' is a number | a duration from 1us to 1s",
        "delay=2s -> delay=2s is out of range | a duration from 1us to 1s",
        "delay=1.5us5 -> delay takes a duration, but '1.5us5' is a name | a duration from 1us to 1s",
        "share=1.5 -> share=1.5 is out of range | a number from 0 to 1",
        "share=1s -> share takes a number, but '1s' is a duration | a number from 0 to 1",
        "room=1.5 -> room takes a size, but '1.5' is a fraction | a size from 1000 to 1000000000 bytes",
        "exact=yes -> exact can't be 'yes' | true or false",
        "side=left -> side can't be 'left' | both or arrivals",
        "'delay=1ms, delay=2ms' -> delay is given twice | each argument once",
        "deley=1ms -> unknown field or argument 'deley' of queue | method, host, url, partial, delay, share, room, exact, side"
      })
  void wrongValuesAreReported(String written, String expected) {
    assertThat(error("PARSE queue(" + written + ")")).isEqualTo(expected);
  }

  @Test
  void aMissingUnitIsSuggested() {
    assertThat(compile("PARSE queue(delay=500)").errors().get(0).suggestion()).isEqualTo("500us");
  }

  @Test
  void formattingKeepsArguments() {
    String text = Formatter.format("PARSE Queue(Delay=500US,side=arrivals)" + REST).text();
    assertThat(text).startsWith("PARSE queue(delay=500us, side=arrivals)\n");
    assertThat(Formatter.format(text).text()).isEqualTo(text);
  }

  @Test
  void theFormatterStillReportsMisspeltForms() {
    Formatter.Result result = Formatter.format("PARSE http_get(url=templat)" + REST);
    assertThat(result.errors()).hasSize(1);
  }

  @Test
  void explainShowsArgumentsWithUnits() {
    assertThat(Explain.render(compile("PARSE queue").plan().orElseThrow(), List.of()))
        .contains("delay of queue: 500us")
        .contains("share of queue: 0.01");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "\"url\" -> argument url has the name of a string field",
        "\"Share\" -> two arguments have the same name"
      })
  void inconsistentCataloguesAreRejected(String name, String message) {
    assertThatThrownBy(() -> catalogue(ARGUMENTS.replace("\"delay\"", name)))
        .hasMessageContaining(message);
  }
}
