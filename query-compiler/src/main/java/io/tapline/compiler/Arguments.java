package io.tapline.compiler;

import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.catalogue.ProcessorInfo;
import io.tapline.compiler.catalogue.ProcessorInfo.ArgumentInfo;
import io.tapline.compiler.catalogue.ProcessorInfo.ArgumentType;
import io.tapline.compiler.packets.GroupWords;
import io.tapline.compiler.text.ArgumentErrors;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.Span;
import io.tapline.schema.proto.PrefixLength;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A processor's arguments. The constructor reports unknown and repeated ones. The methods report
 * values of the wrong type or out of range as errors, and return the default or nothing instead.
 */
final class Arguments {
  private final Map<String, Ast.Argument> given = new LinkedHashMap<>();
  private final Ast.Word processor;
  private final Errors errors;
  private List<PrefixLength> networks = List.of();

  Arguments(Ast.Processor processor, ProcessorInfo info, Errors errors) {
    this.processor = processor.name();
    this.errors = errors;
    processor.arguments().forEach(argument -> accept(argument, info));
  }

  private void accept(Ast.Argument argument, ProcessorInfo info) {
    Optional<ArgumentInfo> known = info.argument(argument.name().text());
    if (known.isEmpty()) {
      errors.unknown(
          argument.name(),
          "argument of " + info.name(),
          info.arguments().stream().map(ArgumentInfo::name).toList());
    } else if (given.containsKey(known.get().name())) {
      String message = "%s is given twice".formatted(known.get().name());
      errors.conflict(argument.name().span(), message, "each argument once");
    } else if (known.get().type() == ArgumentType.GROUP) {
      GroupWords words = GroupWords.read(argument.values(), errors);
      networks = words.networks();
      given.put(
          known.get().name(), new Ast.Argument(argument.name(), words.fields(), argument.list()));
    } else if (argument.values().size() > 1 && known.get().type() != ArgumentType.FIELDS) {
      String message = "%s takes one value, not a list".formatted(known.get().name());
      errors.type(argument.valueSpan(), message, "one " + known.get().type().text);
    } else {
      if (known.get().type() == ArgumentType.FIELDS) {
        argument.values().stream().filter(GroupWords::isNetwork).forEach(this::noNetwork);
      }
      given.put(known.get().name(), argument);
    }
  }

  private void noNetwork(Ast.Word word) {
    String message = "only triggers can group by networks such as %s".formatted(word.text());
    errors.type(word.span(), message, "the field alone");
  }

  /** Returns the prefix lengths of the networks in {@code group=}. */
  List<PrefixLength> networks() {
    return networks;
  }

  boolean has(String name) {
    return given.containsKey(name);
  }

  Span span(String name) {
    return has(name) ? given.get(name).valueSpan() : processor.span();
  }

  /** Returns the processor's name, at which errors that concern no single argument are reported. */
  Ast.Word processor() {
    return processor;
  }

  List<Ast.Word> words(String name) {
    return has(name) ? given.get(name).values() : List.of();
  }

  Optional<Ast.Word> word(String name) {
    return words(name).stream().findFirst();
  }

  int integer(String name, int min, int max, int defaultValue) {
    Optional<Ast.Word> word = word(name);
    if (word.isEmpty()) {
      return defaultValue;
    }
    String text = word.get().text();
    String expected = "a whole number from %d to %d".formatted(min, max);
    Optional<BigDecimal> number =
        Literals.number(text).filter(n -> n.stripTrailingZeros().scale() <= 0);
    if (number.isEmpty()) {
      wrongType(name, word.get(), expected);
      return defaultValue;
    }
    boolean inside =
        number.get().compareTo(BigDecimal.valueOf(min)) >= 0
            && number.get().compareTo(BigDecimal.valueOf(max)) <= 0;
    if (!inside) {
      errors.range(word.get().span(), "%s=%s is out of range".formatted(name, text), expected);
    }
    return inside ? number.get().intValue() : defaultValue;
  }

  /** Returns a number above 0 and at most 100, or the default. */
  double percent(String name, double defaultValue) {
    Optional<Ast.Word> word = word(name);
    if (word.isEmpty()) {
      return defaultValue;
    }
    String expected = "a number above 0 and at most 100";
    Optional<BigDecimal> number = Literals.number(word.get().text());
    if (number.isEmpty()) {
      String message = "%s takes a number, but %s is %s";
      String text = word.get().text();
      errors.type(
          word.get().span(),
          message.formatted(name, Names.quoted(text), Literals.kindOf(text)),
          expected);
      return defaultValue;
    }
    double percent = number.get().doubleValue();
    if (percent <= 0 || percent > 100) {
      String message = "%s=%s is out of range".formatted(name, word.get().text());
      errors.range(word.get().span(), message, expected);
      return defaultValue;
    }
    return percent;
  }

  /**
   * Returns a window's length or slide, which must be a multiple of 1 ms and not below the minimum
   * for stream jobs; empty if missing or invalid.
   */
  Optional<Long> windowNs(String name) {
    return windowNs(name, ProcessorCatalogue.SHORTEST_WINDOW_NS);
  }

  /**
   * Returns a window's length or slide, which must be a multiple of 1 ms and not below {@code
   * minNs}; empty if missing or invalid.
   */
  Optional<Long> windowNs(String name, long minNs) {
    Optional<Ast.Word> word = word(name);
    if (word.isEmpty()) {
      return Optional.empty();
    }
    String min = Literals.durationText(minNs);
    String expected = "a duration from %s to 24h in whole milliseconds".formatted(min);
    Optional<BigDecimal> ns = Literals.durationNs(word.get().text());
    if (ns.isEmpty()) {
      wrongType(name, word.get(), expected);
      return Optional.empty();
    }
    boolean inside =
        ns.get().compareTo(BigDecimal.valueOf(minNs)) >= 0
            && ns.get().compareTo(BigDecimal.valueOf(ProcessorCatalogue.LONGEST_WINDOW_NS)) <= 0
            && ns.get().remainder(BigDecimal.valueOf(Literals.NS_PER_MS)).signum() == 0;
    if (!inside) {
      String message = "%s=%s is out of range".formatted(name, word.get().text());
      errors.range(word.get().span(), message, expected);
    }
    return inside ? ns.map(BigDecimal::longValue) : Optional.empty();
  }

  /** Returns one of a few words in its canonical form; empty if missing or invalid. */
  Optional<String> choice(String name, List<String> choices) {
    Optional<Ast.Word> word = word(name);
    Optional<String> chosen =
        word.flatMap(
            w -> choices.stream().filter(choice -> Names.same(choice, w.text())).findFirst());
    if (word.isPresent() && chosen.isEmpty()) {
      ArgumentErrors.unknownChoice(errors, name, word.get(), choices);
    }
    return chosen;
  }

  private void wrongType(String name, Ast.Word word, String expected) {
    String unit = Literals.number(word.text()).isPresent() ? word.text() + "s" : "";
    String suggestion = expected.startsWith("a duration") ? unit : "";
    ArgumentErrors.wrongType(errors, name, word, expected, suggestion);
  }
}
