package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Shape;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the forms of strings that a query requests: {@code PARSE http_get(url=template)}. */
class ShapesTest {
  private static final String REST = " FROM * TO *:80 LIMIT 9s SAMPLE * PROCESS (top-k: k=3, w=1s)";

  private static CompileResult compile(String parse) {
    return Compiler.compile(parse + REST, Fixtures.CATALOGUE, Fixtures.INVENTORY, Fixtures.OPTIONS);
  }

  private static Plan plan(String parse) {
    CompileResult result = compile(parse);
    assertThat(result.errors()).isEmpty();
    return result.plan().orElseThrow();
  }

  private static Shape shape(String field, Shape.Form form) {
    return Shape.newBuilder().setParser("http_get").setField(field).setForm(form).build();
  }

  @Test
  void shapesAreInThePlanInOrder() {
    assertThat(plan("PARSE http_get(url=template, host=hash)").getShapesList())
        .containsExactly(shape("url", Shape.Form.TEMPLATE), shape("host", Shape.Form.HASH));
    assertThat(plan("PARSE http_get").getShapesList()).isEmpty();
  }

  @Test
  void spellingAndParenthesesAreFree() {
    List<Shape> expected = List.of(shape("url", Shape.Form.OMIT));
    assertThat(plan("PARSE (HTTP-GET(GET=Omit))").getShapesList()).isEqualTo(expected);
    assertThat(plan("parse http_get ( url = omit ) , tcp_conn_time").getShapesList())
        .isEqualTo(expected);
  }

  @Test
  void formattingKeepsForms() {
    String text = Formatter.format("PARSE HTTP-GET(Url=PATH,host=hash)" + REST).text();
    assertThat(text).startsWith("PARSE http_get(url=path, host=hash)\n");
    assertThat(Formatter.format(text).text()).isEqualTo(text);
  }

  @Test
  void explainListsForms() {
    assertThat(Explain.render(plan("PARSE http_get(url=template)"), List.of()))
        .contains("texts     url of http_get: template\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "PARSE http_get(url=tempalte) | unknown form 'tempalte' | template",
        "PARSE http_get(ulr=hash)     | unknown field 'ulr' of http_get | url",
        "PARSE http_get(status=hash)  | status of http_get is not a string | ''",
        "PARSE http_get(src_ip=hash)  | src_ip of http_get is not a string | ''",
        "PARSE http_get(url=hash, url=path) | url is given two forms | ''",
        "PARSE http_get(url)          | unexpected ')' | ''",
        "PARSE http_get()             | unexpected ')' | ''",
        "PARSE http_get(url=)         | unexpected ')' | ''",
        "PARSE nothing(url=hash)      | unknown parser 'nothing' | ''",
      })
  void errorsNameTheFault(String parse, String message, String suggestion) {
    List<QueryError> errors = compile(parse).errors();
    assertThat(errors).hasSize(1);
    assertThat(errors.get(0).message()).isEqualTo(message);
    assertThat(errors.get(0).suggestion()).isEqualTo(suggestion);
  }

  private static CompileResult compileUnder(String texts, String parse) {
    Inventory inventory = Inventory.fromYaml("texts:\n" + texts.indent(2));
    return Compiler.compile(parse + REST, Fixtures.CATALOGUE, inventory, Fixtures.OPTIONS);
  }

  @Test
  void policyGivesFormsToStringsThatTheQueryDoesNotMention() {
    String policy = "http_get: {url: template, host: [hash, template]}";
    CompileResult result = compileUnder(policy, "PARSE http_get, tcp_conn_time");
    assertThat(result.plan().orElseThrow().getShapesList())
        .containsExactlyInAnyOrder(
            shape("url", Shape.Form.TEMPLATE), shape("host", Shape.Form.HASH));
    assertThat(Explain.render(result.plan().get(), result.notes()))
        .contains("url of http_get: template\n")
        .contains(
            "url of http_get leaves the monitor as template, as the inventory's section \"texts\" requires");
  }

  @Test
  void queriesMayChooseAllowedFormsOrOmit() {
    String policy = "HTTP-GET: {url: template, host: [hash, template]}";
    CompileResult result = compileUnder(policy, "PARSE http_get(host=template, url=omit)");
    assertThat(result.plan().orElseThrow().getShapesList())
        .containsExactly(shape("host", Shape.Form.TEMPLATE), shape("url", Shape.Form.OMIT));
    assertThat(result.notes()).noneMatch(note -> note.message().contains("leaves the monitor"));
  }

  @Test
  void queriesCannotExceedThePolicy() {
    QueryError error =
        compileUnder("'*': {url: [hash, template]}", "PARSE http_get(url=path)").errors().get(0);
    assertThat(error.code()).isEqualTo(QueryError.Code.FORBIDDEN);
    assertThat(error.message()).isEqualTo("url of http_get may not leave the monitor as path");
    assertThat(error.expected())
        .isEqualTo("hash, template or omit, as the inventory's section \"texts\" says");
    assertThat(error.column()).isEqualTo("PARSE http_get(url=".length() + 1);
  }

  @Test
  void aParsersPolicyTakesPrecedence() {
    String policy = "'*': {url: omit}\nhttp_get: {url: hash}";
    assertThat(compileUnder(policy, "PARSE http_get").plan().orElseThrow().getShapesList())
        .containsExactly(shape("url", Shape.Form.HASH));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "http_gett: {url: hash} | inventory, texts.http_gett.url: there is no parser http_gett",
        "http_get: {ulr: hash}  | inventory, texts.http_get.ulr: there is no such string field",
        "http_get: {status: hash} | inventory, texts.http_get.status: there is no such string field",
        "\"*\": {src_ip: hash}  | inventory, texts.*.src_ip: there is no such string field",
        "http_get: {url: hsah}  | inventory, texts.http_get.url: must be template, path, hash or omit, or a list of them",
        "http_get: {url: []}    | inventory, texts.http_get.url: needs a form",
        "http_get: url          | inventory, texts.http_get: must map string fields to template, path, hash or omit",
      })
  void policiesThatWouldProtectNothingAreErrors(String policy, String message) {
    assertThatThrownBy(
            () ->
                Inventory.fromYaml("texts:\n" + policy.indent(2))
                    .texts()
                    .requireTextsOf(Fixtures.CATALOGUE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }
}
