package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserArgumentInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.ArgumentErrors;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.ParserArgument;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads the arguments of parsers in PARSE: {@code marked_packet(dscp=46)}. */
final class ParserArgumentReader {
  private final ParserInfo parser;
  private final Errors errors;

  private final Map<String, String> values = new HashMap<>();
  private final Set<String> seen = new HashSet<>();

  private ParserArgumentReader(ParserInfo parser, Errors errors) {
    this.parser = parser;
    this.errors = errors;
    parser.arguments().forEach(argument -> values.put(argument.name(), argument.defaultValue()));
  }

  /**
   * Returns all argument values of the query's parsers, including defaults. Ignores string forms
   * and unknown names, which {@link ShapeReader} handles.
   */
  static List<ParserArgument> read(
      List<Ast.Parser> writtenParsers, Catalogue catalogue, Errors errors) {
    Map<String, ParserArgumentReader> readers = new LinkedHashMap<>();
    for (Ast.Parser one : writtenParsers) {
      catalogue
          .parser(one.name().text())
          .ifPresent(
              parser -> {
                ParserArgumentReader reader =
                    readers.computeIfAbsent(
                        parser.name(), name -> new ParserArgumentReader(parser, errors));
                one.arguments().forEach(reader::accept);
              });
    }
    List<ParserArgument> all = new ArrayList<>();
    readers.values().forEach(reader -> reader.addTo(all));
    return all;
  }

  private void accept(Ast.Argument writtenArgument) {
    Optional<ParserArgumentInfo> argument = parser.argument(writtenArgument.name().text());
    if (argument.isEmpty()) {
      return;
    }
    String name = argument.get().name();
    if (!seen.add(name)) {
      errors.conflict(
          writtenArgument.name().span(), "%s is given twice".formatted(name), "each argument once");
      return;
    }
    value(argument.get(), writtenArgument.values().get(0))
        .ifPresent(value -> values.put(name, value));
  }

  private void addTo(List<ParserArgument> all) {
    for (ParserArgumentInfo argument : parser.arguments()) {
      all.add(
          ParserArgument.newBuilder()
              .setParser(parser.name())
              .setName(argument.name())
              .setValue(values.get(argument.name()))
              .setUnit(argument.unit())
              .build());
    }
  }

  private Optional<String> value(ParserArgumentInfo argument, Ast.Word word) {
    return switch (argument.type()) {
      case BOOL -> choice(argument, word, List.of("true", "false"));
      case STRING, ADDRESS -> choice(argument, word, argument.choices());
      case U64, I64, F64 -> number(argument, word);
    };
  }

  private Optional<String> choice(
      ParserArgumentInfo argument, Ast.Word word, List<String> choices) {
    Optional<String> chosen =
        choices.stream().filter(choice -> Names.same(choice, word.text())).findFirst();
    if (chosen.isEmpty()) {
      ArgumentErrors.unknownChoice(errors, argument.name(), word, choices);
    }
    return chosen;
  }

  private Optional<String> number(ParserArgumentInfo argument, Ast.Word word) {
    Optional<BigDecimal> number = inUnit(argument.unit(), word.text());
    boolean fits =
        number.isPresent()
            && (argument.type() == FieldInfo.Type.F64
                || number.get().stripTrailingZeros().scale() <= 0);
    if (!fits) {
      wrongType(argument, word);
      return Optional.empty();
    }
    if (!argument.accepts(number.get())) {
      String message = "%s=%s is out of range".formatted(argument.name(), word.text());
      errors.range(word.span(), message, argument.expected());
      return Optional.empty();
    }
    return Optional.of(number.get().stripTrailingZeros().toPlainString());
  }

  private static Optional<BigDecimal> inUnit(String unit, String text) {
    return switch (unit) {
      case "ns" -> Literals.durationNs(text);
      case "bytes" -> Literals.sizeBytes(text).or(() -> Literals.number(text));
      default -> Literals.number(text);
    };
  }

  private void wrongType(ParserArgumentInfo argument, Ast.Word word) {
    boolean unitMissing = argument.unit().equals("ns") && Literals.number(word.text()).isPresent();
    String suggestion = unitMissing ? word.text() + "us" : "";
    ArgumentErrors.wrongType(errors, argument.name(), word, argument.expected(), suggestion);
  }
}
