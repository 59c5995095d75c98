package io.tapline.compiler;

import com.google.protobuf.ByteString;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.ConditionTree.Literal;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * Reads the values of a condition according to the type of the field that they are compared with.
 *
 * @param spans returns the position of a value
 */
record ValueReader(IntFunction<Span> spans, Inventory inventory, Errors errors) {
  private static final BigInteger MAX_U64 = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

  /** Returns a value of the field's type, or all addresses of a host; nothing after an error. */
  List<Literal> of(Literal writtenLiteral, FieldInfo field) {
    String text = text(writtenLiteral);
    int slash = text.indexOf('/');
    if (field.type() == FieldInfo.Type.ADDRESS) {
      return addresses(writtenLiteral).stream().map(ValueReader::word).toList();
    } else if (field.type() == FieldInfo.Type.STRING && (writtenLiteral.hasText() || slash <= 0)) {
      return List.of(Literal.newBuilder().setText(ByteString.copyFromUtf8(text)).build());
    } else if (slash > 0 && !writtenLiteral.hasText()) {
      String message = "%s is not an address".formatted(field.name());
      Span span = spans.apply(writtenLiteral.getAt() + bytes(text, slash + 1));
      errors.type(span, message, "a value without prefix length");
      return List.of();
    } else if (field.type() == FieldInfo.Type.BOOL) {
      return bool(writtenLiteral, field).map(ValueReader::word).stream().toList();
    }
    return number(writtenLiteral, field)
        .filter(number -> isInRange(number, writtenLiteral, field))
        .map(number -> word(number.toPlainString()))
        .stream()
        .toList();
  }

  private static Literal word(String word) {
    return Literal.newBuilder().setWord(word).build();
  }

  private static String text(Literal literal) {
    return literal.hasText() ? literal.getText().toStringUtf8() : literal.getWord();
  }

  private static int bytes(String text, int end) {
    return ByteString.copyFromUtf8(text.substring(0, end)).size();
  }

  private Span span(Literal literal) {
    return spans.apply(literal.getAt());
  }

  private Optional<String> bool(Literal writtenLiteral, FieldInfo field) {
    String text = text(writtenLiteral).toLowerCase(Locale.ROOT);
    if (text.equals("true") || text.equals("false")) {
      return Optional.of(text);
    }
    String message =
        "%s is true or false, not %s".formatted(field.name(), Names.quoted(text(writtenLiteral)));
    String nearest = Names.nearest(text, List.of("true", "false"));
    errors.add(span(writtenLiteral), QueryError.Code.TYPE, message, "true or false", nearest);
    return Optional.empty();
  }

  /** Returns a number in the field's unit; nothing after an error. */
  Optional<BigDecimal> number(Literal writtenLiteral, FieldInfo field) {
    String word = writtenLiteral.getWord();
    Optional<BigDecimal> value = Literals.number(word);
    if (value.isEmpty() && field.unit().equals("ns")) {
      value = Literals.durationNs(word);
    } else if (value.isEmpty() && field.unit().equals("bytes")) {
      value = Literals.sizeBytes(word);
    }
    if (value.isEmpty() || writtenLiteral.hasText()) {
      String expected = expected(field);
      String message =
          "%s takes %s, not %s"
              .formatted(field.name(), expected, Names.quoted(text(writtenLiteral)));
      errors.type(span(writtenLiteral), message, expected);
      return Optional.empty();
    }
    return value.map(BigDecimal::stripTrailingZeros);
  }

  private boolean isInRange(BigDecimal number, Literal writtenLiteral, FieldInfo field) {
    boolean isWhole = number.scale() <= 0;
    boolean inRange =
        switch (field.type()) {
          case U64 ->
              isWhole && number.signum() >= 0 && number.toBigInteger().compareTo(MAX_U64) <= 0;
          case I64 -> isWhole && number.toBigInteger().bitLength() < 64;
          default -> true;
        };
    if (!inRange) {
      String message = "%s can't be %s".formatted(field.name(), text(writtenLiteral));
      errors.range(span(writtenLiteral), message, expected(field));
    }
    return inRange;
  }

  private static String expected(FieldInfo field) {
    String kind = field.type() == FieldInfo.Type.F64 ? "a number" : "a whole number";
    return switch (field.unit()) {
      case "ns" -> kind + " of ns or a duration such as 10ms";
      case "bytes" -> kind + " of bytes or a size such as 10kB";
      default -> kind;
    };
  }

  private List<String> addresses(Literal writtenLiteral) {
    String text = text(writtenLiteral);
    int slash = text.indexOf('/');
    String address = slash < 0 ? text : text.substring(0, slash);
    Optional<IpPrefix> ip = IpPrefix.parse(address);
    Optional<Inventory.Entry> host = inventory.find(address);
    if (ip.isEmpty() && host.isPresent() && slash < 0) {
      return host.get().prefixes().stream().map(IpPrefix::toString).toList();
    } else if (ip.isEmpty()) {
      String expected = "an address, ip/length or a name of the inventory";
      Ast.Word word = new Ast.Word(address, address, span(writtenLiteral));
      errors.unknownPlace(word, "host", expected, inventory.names());
      return List.of();
    }
    return prefix(ip.get(), writtenLiteral).map(IpPrefix::toString).stream().toList();
  }

  /** Reports an invalid prefix length. */
  void check(Literal writtenLiteral) {
    String text = text(writtenLiteral);
    int slash = text.indexOf('/');
    if (slash > 0) {
      IpPrefix.parse(text.substring(0, slash)).ifPresent(ip -> prefix(ip, writtenLiteral));
    }
  }

  /** Returns the prefix if its length is valid; otherwise reports an error. */
  private Optional<IpPrefix> prefix(IpPrefix ip, Literal writtenLiteral) {
    String text = text(writtenLiteral);
    int slash = text.indexOf('/');
    if (slash < 0) {
      return Optional.of(ip);
    }
    String digits = text.substring(slash + 1);
    if (!digits.matches("[0-9]{1,3}") || Integer.parseInt(digits) > ip.longest()) {
      String message =
          "%s is not a valid prefix length for %s"
              .formatted(Names.quoted(digits), text.substring(0, slash));
      String expected = "0 to %d".formatted(ip.longest());
      Span span = spans.apply(writtenLiteral.getAt() + bytes(text, slash + 1));
      errors.place(span, QueryError.Code.RANGE, message, expected, "");
      return Optional.empty();
    }
    return Optional.of(ip.shortened(Integer.parseInt(digits)));
  }
}
