package io.tapline.compiler.access;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Forms;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Restricts the forms in which strings may leave monitors, as specified in the inventory's {@code
 * texts} section:
 *
 * <pre>
 * texts:
 *   http_get:
 *     url: template
 *     host: [hash, template]
 *   "*":
 *     statement: template
 * </pre>
 *
 * <p>The first form is the default; a query may request the others, and always {@code omit}. A
 * parser's own entry takes precedence over {@code "*"}. Strings that are not listed are
 * unrestricted.
 */
public final class TextPolicy {
  public static final TextPolicy NONE = new TextPolicy(List.of());
  private static final String EVERY_PARSER = "*";

  private final List<Rule> rules;

  private record Rule(String parser, String field, List<Shape.Form> forms) {
    boolean isOf(ParserInfo info) {
      return parser.equals(EVERY_PARSER) || Names.same(parser, info.name());
    }

    boolean isOf(FieldInfo info) {
      return Names.same(field, info.name());
    }

    String place() {
      return "texts.%s.%s".formatted(parser, field);
    }
  }

  private TextPolicy(List<Rule> rules) {
    this.rules = List.copyOf(rules);
  }

  /**
   * Reads the inventory's {@code texts} section.
   *
   * @throws IllegalArgumentException if the section is malformed
   */
  public static TextPolicy read(JsonNode section) {
    List<Rule> rules = new ArrayList<>();
    requireMap(section, "texts", "must map parsers to their string fields");
    for (Map.Entry<String, JsonNode> parser : section.properties()) {
      String place = "texts." + parser.getKey();
      requireMap(
          parser.getValue(), place, "must map string fields to template, path, hash or omit");
      for (Map.Entry<String, JsonNode> text : parser.getValue().properties()) {
        List<Shape.Form> forms = forms(text.getValue(), place + "." + text.getKey());
        rules.add(new Rule(parser.getKey(), text.getKey(), forms));
      }
    }
    // Rules for one parser precede rules for all parsers, since the first match applies.
    List<Rule> sorted = new ArrayList<>();
    rules.stream().filter(rule -> !rule.parser().equals(EVERY_PARSER)).forEach(sorted::add);
    rules.stream().filter(rule -> rule.parser().equals(EVERY_PARSER)).forEach(sorted::add);
    return new TextPolicy(sorted);
  }

  private static List<Shape.Form> forms(JsonNode node, String place) {
    List<Shape.Form> forms = new ArrayList<>();
    for (JsonNode one : node.isArray() ? node : List.of(node)) {
      String form = Names.lower(one.asText());
      if (!one.isTextual() || !Forms.OF_TEXTS.contains(form)) {
        throw wrong(place, "must be template, path, hash or omit, or a list of them");
      }
      forms.add(Shape.Form.valueOf(form.toUpperCase(Locale.ROOT)));
    }
    if (forms.isEmpty()) {
      throw wrong(place, "needs a form");
    }
    return List.copyOf(forms);
  }

  private static void requireMap(JsonNode node, String place, String error) {
    if (!node.isMissingNode() && !node.isNull() && !node.isObject()) {
      throw wrong(place, error);
    }
  }

  private static IllegalArgumentException wrong(String place, String message) {
    return new IllegalArgumentException("inventory, %s: %s".formatted(place, message));
  }

  /**
   * Rejects misspelled names, which would protect nothing. Called by components that know the
   * parsers.
   *
   * @throws IllegalArgumentException if the policy names a parser that does not exist, or a field
   *     that is not one of the parser's strings (for {@code "*"}, of any parser's)
   */
  public void requireTextsOf(Catalogue catalogue) {
    for (Rule rule : rules) {
      List<ParserInfo> parsers = catalogue.parsers().stream().filter(rule::isOf).toList();
      if (parsers.isEmpty()) {
        throw wrong(rule.place(), "there is no parser " + rule.parser());
      }
      List<FieldInfo> fields =
          parsers.stream().flatMap(p -> p.fields().stream()).filter(rule::isOf).toList();
      if (fields.stream().noneMatch(FieldInfo::isText)) {
        throw wrong(rule.place(), "there is no such string field");
      }
    }
  }

  /** Returns the forms that a string may have, the default first; empty if it is unrestricted. */
  public Optional<List<Shape.Form>> forms(ParserInfo parser, FieldInfo text) {
    return rules.stream()
        .filter(rule -> rule.isOf(parser) && rule.isOf(text))
        .map(Rule::forms)
        .findFirst();
  }
}
