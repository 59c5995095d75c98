package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Join;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Resolves the fields that a processor's words refer to, given the parsers of the query.
 *
 * @param parsers parsers in the order of PARSE
 * @param catalogue catalogue, for suggesting other parsers if these lack a field
 */
record Fields(List<ParserInfo> parsers, Catalogue catalogue, Errors errors) {

  /**
   * A key and the origin of its fields.
   *
   * @param names canonical field names
   * @param join empty if all fields are the parser's own
   */
  record Key(List<String> names, Optional<Join> join) {}

  static boolean hasAll(ParserInfo parser, List<Ast.Word> words) {
    return words.stream().allMatch(word -> Catalogue.field(parser, word.text()).isPresent());
  }

  /** Returns the parsers that have the field, in the same order. */
  static List<ParserInfo> having(List<ParserInfo> parsers, Ast.Word word) {
    return parsers.stream().filter(p -> Catalogue.field(p, word.text()).isPresent()).toList();
  }

  /** Returns the parsers in which the field is a number, in the same order. */
  static List<ParserInfo> havingNumber(List<ParserInfo> parsers, Ast.Word word) {
    return parsers.stream()
        .filter(p -> Catalogue.field(p, word.text()).filter(f -> f.type().isNumeric()).isPresent())
        .toList();
  }

  /** Returns the first parser that has all the words as fields, else the first parser. */
  static ParserInfo firstHaving(List<ParserInfo> parsers, List<Ast.Word> words) {
    return parsers.stream().filter(p -> hasAll(p, words)).findFirst().orElse(parsers.get(0));
  }

  void unknown(Ast.Word word) {
    Set<String> names = new LinkedHashSet<>();
    parsers.stream().flatMap(p -> p.fields().stream()).map(FieldInfo::name).forEach(names::add);
    List<String> candidates =
        Stream.concat(names.stream(), Catalogue.FIELD_ALIASES.keySet().stream().sorted()).toList();
    String owners = parsers.stream().map(ParserInfo::name).collect(Collectors.joining(" or "));
    String elsewhere = otherParsers(word);
    String expected = "one of " + String.join(", ", names) + elsewhere;
    String message = "unknown field %s of %s".formatted(Names.quoted(word.text()), owners);
    String nearest = elsewhere.isEmpty() ? canonical(Names.nearest(word.text(), candidates)) : "";
    errors.add(word.span(), QueryError.Code.UNKNOWN_NAME, message, expected, nearest);
  }

  /** Reports that no parser has all of these fields. */
  void noneHasAll(List<Ast.Word> words) {
    words.stream()
        .filter(word -> having(parsers, word).isEmpty())
        .findFirst()
        .ifPresentOrElse(
            this::unknown,
            () ->
                errors.conflict(
                    words.get(0).span(),
                    "no parser in PARSE has all fields of the condition",
                    "fields of one parser"));
  }

  private static String canonical(String name) {
    return Catalogue.FIELD_ALIASES.getOrDefault(name, name);
  }

  private String otherParsers(Ast.Word word) {
    String others =
        having(catalogue.parsers(), word).stream()
            .map(ParserInfo::name)
            .collect(Collectors.joining(" or "));
    return others.isEmpty() ? "" : "; or add " + others + " to PARSE";
  }

  /**
   * Returns the key's fields: the parser's own and, if the parser lacks some, those joined from
   * another parser that has all the missing ones.
   */
  Key key(ParserInfo parser, List<Ast.Word> words) {
    List<Ast.Word> knownWords = words.stream().filter(this::isKnown).toList();
    List<Ast.Word> foreign =
        knownWords.stream().filter(w -> Catalogue.field(parser, w.text()).isEmpty()).toList();
    Optional<ParserInfo> joinedOwner = parsers.stream().filter(p -> hasAll(p, foreign)).findFirst();
    if (joinedOwner.isEmpty()) {
      Ast.Word last = foreign.get(foreign.size() - 1);
      String expected = "fields of %s and of one other parser".formatted(parser.name());
      errors.conflict(last.span(), "these fields come from more than two parsers", expected);
      return new Key(List.of(), Optional.empty());
    }
    List<String> names = new ArrayList<>();
    for (Ast.Word word : knownWords) {
      ParserInfo owner = foreign.contains(word) ? joinedOwner.get() : parser;
      String name = Catalogue.field(owner, word.text()).orElseThrow().name();
      if (names.contains(name)) {
        errors.conflict(word.span(), "%s is listed twice".formatted(name), "each field once");
      } else {
        names.add(name);
      }
    }
    return new Key(names, join(joinedOwner.get(), foreign));
  }

  private boolean isKnown(Ast.Word word) {
    boolean isKnown = !having(parsers, word).isEmpty();
    if (!isKnown) {
      unknown(word);
    }
    return isKnown;
  }

  private static Optional<Join> join(ParserInfo joinedInfo, List<Ast.Word> foreign) {
    if (foreign.isEmpty()) {
      return Optional.empty();
    }
    List<String> names =
        foreign.stream()
            .map(w -> Catalogue.field(joinedInfo, w.text()).orElseThrow().name())
            .distinct()
            .toList();
    return Optional.of(Join.newBuilder().setParser(joinedInfo.name()).addAllFields(names).build());
  }

  /**
   * Returns the numeric field that {@code by} refers to; reports an error and returns nothing if
   * the field is not numeric.
   */
  Optional<FieldInfo> numeric(ParserInfo parser, Ast.Word word) {
    FieldInfo field = Catalogue.field(parser, word.text()).orElseThrow();
    if (field.type().isNumeric()) {
      return Optional.of(field);
    }
    String type =
        field.type() == FieldInfo.Type.ADDRESS
            ? "an address"
            : "a " + field.type().name().toLowerCase(Locale.ROOT);
    String message = "by takes a number, but %s is %s".formatted(field.name(), type);
    errors.type(word.span(), message, "one of " + numericNames(parser));
    return Optional.empty();
  }

  static String numericNames(ParserInfo parser) {
    return parser.fields().stream()
        .filter(field -> field.type().isNumeric())
        .map(FieldInfo::name)
        .collect(Collectors.joining(", "));
  }
}
