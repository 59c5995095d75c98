package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.FieldCondition;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Reads WHERE: conditions on fields of the query's parsers, with values of the fields' types. */
final class WhereReader {
  private static final BigInteger MOST_U64 = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
  private static final Map<String, FieldCondition.Operator> OPERATORS =
      Map.of(
          "=", FieldCondition.Operator.EQUAL,
          "!=", FieldCondition.Operator.NOT_EQUAL,
          "<", FieldCondition.Operator.LESS,
          "<=", FieldCondition.Operator.LESS_OR_EQUAL,
          ">", FieldCondition.Operator.GREATER,
          ">=", FieldCondition.Operator.GREATER_OR_EQUAL);

  static final int MOST_CONDITIONS = 64;

  private final Fields fields;
  private final Inventory inventory;
  private final Errors errors;

  private WhereReader(Fields fields, Inventory inventory, Errors errors) {
    this.fields = fields;
    this.inventory = inventory;
    this.errors = errors;
  }

  /** Returns true if WHERE has no more conditions than a monitor supports. */
  static boolean isShortEnough(List<Ast.Condition> conditions, Errors errors) {
    if (conditions.size() <= MOST_CONDITIONS) {
      return true;
    }
    String message = "WHERE has %d conditions".formatted(conditions.size());
    Span place = conditions.get(MOST_CONDITIONS).field().span();
    errors.add(place, QueryError.Code.TOO_LARGE, message, "at most " + MOST_CONDITIONS, "");
    return false;
  }

  /** Checks what can be checked while the types of fields are not known. */
  static void checkWithoutFields(List<Ast.Condition> conditions, Errors errors) {
    for (Ast.Condition condition : conditions) {
      takesItsValues(condition, errors);
      for (Ast.Literal literal : condition.values()) {
        IpPrefix.parse(literal.word().text()).ifPresent(ip -> prefix(ip, literal, errors));
      }
    }
  }

  /** Returns the conditions. REQUIRES: all parsers are known. */
  static List<FieldCondition> read(
      List<Ast.Condition> conditions, Fields fields, Inventory inventory, Errors errors) {
    WhereReader reader = new WhereReader(fields, inventory, errors);
    List<FieldCondition> read = new ArrayList<>();
    conditions.forEach(condition -> reader.condition(condition).ifPresent(read::add));
    return read;
  }

  private Optional<FieldCondition> condition(Ast.Condition condition) {
    List<ParserInfo> owners = Fields.having(fields.parsers(), condition.field());
    if (owners.isEmpty()) {
      fields.unknown(condition.field());
      return Optional.empty();
    }
    FieldCondition.Operator operator = OPERATORS.get(condition.operator().text());
    FieldInfo field = field(condition, isOrder(operator), owners);
    List<String> asked =
        owners.stream()
            .filter(p -> Catalogue.field(p, field.name()).orElseThrow().type() == field.type())
            .map(ParserInfo::name)
            .toList();
    if (asked.size() < fields.parsers().size()) {
      String names = String.join(" and ", asked);
      errors.note("WHERE %s is asked of tuples of %s only".formatted(field.name(), names));
    }
    if (!fits(condition, operator, field)) {
      return Optional.empty();
    }
    FieldCondition.Builder read =
        FieldCondition.newBuilder()
            .setField(field.name())
            .addAllParsers(asked)
            .setOperator(operator);
    for (Ast.Literal literal : condition.values()) {
      List<String> values = values(literal, field);
      if (values.isEmpty()) {
        return Optional.empty();
      }
      read.addAllValues(values);
    }
    return Optional.of(read.build());
  }

  private static boolean isOrder(FieldCondition.Operator operator) {
    return operator != FieldCondition.Operator.EQUAL
        && operator != FieldCondition.Operator.NOT_EQUAL;
  }

  /**
   * Returns the field of the first parser that supports the comparison: a name may have several
   * types.
   */
  private static FieldInfo field(Ast.Condition condition, boolean order, List<ParserInfo> owners) {
    List<FieldInfo> infos =
        owners.stream()
            .map(owner -> Catalogue.field(owner, condition.field().text()).orElseThrow())
            .toList();
    return infos.stream()
        .filter(info -> !order || info.type().isNumeric())
        .findFirst()
        .orElse(infos.get(0));
  }

  private boolean fits(Ast.Condition condition, FieldCondition.Operator operator, FieldInfo field) {
    boolean equality = !isOrder(operator);
    if (!equality && !field.type().isNumeric()) {
      String message = "%s has no order".formatted(field.name());
      errors.type(condition.operator().span(), message, "= or !=");
      return false;
    }
    return takesItsValues(condition, errors);
  }

  /** Only = and != accept a list. */
  private static boolean takesItsValues(Ast.Condition condition, Errors errors) {
    if (!isOrder(OPERATORS.get(condition.operator().text())) || condition.values().size() <= 1) {
      return true;
    }
    String message = "%s takes one value".formatted(condition.operator().text());
    errors.conflict(condition.operator().span(), message, "= or != before a list");
    return false;
  }

  /** Returns a literal's values, several if it names several addresses; none after an error. */
  private List<String> values(Ast.Literal literal, FieldInfo field) {
    if (field.type() == FieldInfo.Type.ADDRESS) {
      return addresses(literal);
    } else if (literal.length() != null) {
      String message = "%s is no address".formatted(field.name());
      errors.type(literal.length().span(), message, "a value without prefix length");
      return List.of();
    }
    return switch (field.type()) {
      case STRING -> List.of(literal.word().text());
      case BOOL -> bool(literal.word(), field);
      default -> number(literal.word(), field);
    };
  }

  private List<String> bool(Ast.Word word, FieldInfo field) {
    String text = word.text().toLowerCase(Locale.ROOT);
    if (text.equals("true") || text.equals("false")) {
      return List.of(text);
    }
    String message =
        "%s is true or false, not %s".formatted(field.name(), Names.quoted(word.text()));
    errors.add(
        word.span(),
        QueryError.Code.TYPE,
        message,
        "true or false",
        Names.nearest(word.text(), List.of("true", "false")));
    return List.of();
  }

  private List<String> number(Ast.Word word, FieldInfo field) {
    Optional<BigDecimal> value = Literals.number(word.text());
    if (value.isEmpty() && field.unit().equals("ns")) {
      value = Literals.durationNs(word.text());
    } else if (value.isEmpty() && field.unit().equals("bytes")) {
      value = Literals.sizeBytes(word.text());
    }
    String expected = expected(field);
    if (value.isEmpty() || word.isQuoted()) {
      String message =
          "%s takes %s, not %s".formatted(field.name(), expected, Names.quoted(word.text()));
      errors.type(word.span(), message, expected);
      return List.of();
    }
    BigDecimal number = value.get().stripTrailingZeros();
    boolean whole = number.scale() <= 0;
    boolean inRange =
        switch (field.type()) {
          case U64 ->
              whole && number.signum() >= 0 && number.toBigInteger().compareTo(MOST_U64) <= 0;
          case I64 -> whole && number.toBigInteger().bitLength() < 64;
          default -> true;
        };
    if (!inRange) {
      errors.range(word.span(), "%s can't be %s".formatted(field.name(), word.text()), expected);
      return List.of();
    }
    return List.of(number.toPlainString());
  }

  private static String expected(FieldInfo field) {
    String kind = field.type() == FieldInfo.Type.F64 ? "a number" : "a whole number";
    return switch (field.unit()) {
      case "ns" -> kind + " of ns or a duration such as 10ms";
      case "bytes" -> kind + " of bytes or a size such as 10kB";
      default -> kind;
    };
  }

  private List<String> addresses(Ast.Literal literal) {
    Ast.Word word = literal.word();
    Optional<IpPrefix> ip = IpPrefix.parse(word.text());
    Optional<Inventory.Entry> host = inventory.find(word.text());
    if (ip.isEmpty() && host.isPresent() && literal.length() == null) {
      return host.get().prefixes().stream().map(IpPrefix::toString).toList();
    } else if (ip.isEmpty()) {
      String expected = "an address, ip/length or a name of the inventory";
      errors.unknownPlace(word, "host", expected, inventory.names());
      return List.of();
    }
    return prefix(ip.get(), literal, errors).map(IpPrefix::toString).stream().toList();
  }

  /** Returns an address with its length, if that is valid. */
  private static Optional<IpPrefix> prefix(IpPrefix ip, Ast.Literal literal, Errors errors) {
    if (literal.length() == null) {
      return Optional.of(ip);
    }
    String digits = literal.length().text();
    if (!digits.matches("[0-9]{1,3}") || Integer.parseInt(digits) > ip.longest()) {
      String message =
          "%s is no prefix length of %s".formatted(Names.quoted(digits), literal.word().text());
      String expected = "0 to %d".formatted(ip.longest());
      errors.place(literal.length().span(), QueryError.Code.RANGE, message, expected, "");
      return Optional.empty();
    }
    return Optional.of(ip.shortened(Integer.parseInt(digits)));
  }
}
