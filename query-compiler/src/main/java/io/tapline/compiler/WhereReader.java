package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.QueryError;
import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Field;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Range;
import io.tapline.schema.proto.ConditionTree.Term;
import io.tapline.schema.proto.TupleFilter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Reads WHERE. Each condition joined by AND applies to the query's parsers that have its fields.
 */
final class WhereReader {
  static final int MAX_CONDITIONS = 64;

  private final ParsedCondition where;
  private final Fields fields;
  private final Inventory inventory;
  private final Errors errors;

  private WhereReader(
      ParsedCondition parsedCondition, Fields fields, Inventory inventory, Errors errors) {
    this.where = parsedCondition;
    this.fields = fields;
    this.inventory = inventory;
    this.errors = errors;
  }

  /**
   * Parses WHERE. Returns nothing if it is missing or, after reporting an error, if it is invalid.
   */
  static Optional<ParsedCondition> parse(Ast.Condition writtenCondition, Errors errors) {
    return Optional.ofNullable(writtenCondition)
        .flatMap(filter -> ParsedCondition.of(filter, errors))
        .filter(parsed -> isShortEnough(parsed, errors));
  }

  private static boolean isShortEnough(ParsedCondition parsed, Errors errors) {
    if (parsed.size() <= MAX_CONDITIONS) {
      return true;
    }
    String message = "WHERE has %d conditions".formatted(parsed.size());
    errors.add(
        parsed.span(MAX_CONDITIONS),
        QueryError.Code.TOO_LARGE,
        message,
        "at most " + MAX_CONDITIONS,
        "");
    return false;
  }

  /** Checks everything that does not depend on the types of fields. */
  static void checkWithoutFields(ParsedCondition parsed, Errors errors) {
    ValueReader values = new ValueReader(parsed.spans(), Inventory.empty(), errors);
    parsed.tree().getNodesList().stream().flatMap(WhereReader::literals).forEach(values::check);
  }

  private static Stream<Literal> literals(Node node) {
    return node.hasMembership()
        ? node.getMembership().getRangesList().stream().map(Range::getLow)
        : Stream.concat(
                node.getComparison().getLeftList().stream(),
                node.getComparison().getRightList().stream())
            .filter(Term::hasLiteral)
            .map(Term::getLiteral);
  }

  /** Returns the conditions that tuples must meet, by parsers. REQUIRES: all parsers are known. */
  static List<TupleFilter> read(
      ParsedCondition parsedCondition, Fields fields, Inventory inventory, Errors errors) {
    WhereReader reader = new WhereReader(parsedCondition, fields, inventory, errors);
    Map<List<String>, List<ConditionTree>> filters = new LinkedHashMap<>();
    Trees.conjuncts(parsedCondition.tree()).forEach(conjunct -> reader.addTo(filters, conjunct));
    return filters.entrySet().stream()
        .map(entry -> filter(entry.getKey(), Trees.and(entry.getValue())))
        .toList();
  }

  private static TupleFilter filter(List<String> parsers, ConditionTree condition) {
    return TupleFilter.newBuilder()
        .addAllParsers(parsers)
        .setCondition(condition)
        .setText(ConditionPrinter.text(condition))
        .build();
  }

  private void addTo(Map<List<String>, List<ConditionTree>> filters, ConditionTree part) {
    List<Ast.Word> words = where.fields(part);
    List<ParserInfo> owners =
        fields.parsers().stream().filter(parser -> Fields.hasAll(parser, words)).toList();
    if (owners.isEmpty()) {
      fields.noneHasAll(words);
      return;
    }
    ParserInfo parser =
        owners.stream()
            .filter(owner -> ordersNumbers(part, owner))
            .findFirst()
            .orElse(owners.get(0));
    new ConditionTyper(parser, where, inventory, errors)
        .typed(part)
        .ifPresent(
            typed -> {
              List<String> requiredParsers = requiredParsers(typed, parser);
              filters.computeIfAbsent(requiredParsers, parsers -> new ArrayList<>()).add(typed);
            });
  }

  /**
   * Returns true if all fields in ordered comparisons are numbers. Fields of the same name may have
   * different types in other parsers.
   */
  private static boolean ordersNumbers(ConditionTree part, ParserInfo parser) {
    return part.getNodesList().stream()
        .flatMap(WhereReader::ordered)
        .map(field -> Catalogue.field(parser, field.getName()))
        .allMatch(field -> field.filter(info -> info.type().isNumeric()).isPresent());
  }

  private static Stream<Field> ordered(Node node) {
    if (node.hasMembership()) {
      boolean isRange = node.getMembership().getRangesList().stream().anyMatch(Range::hasHigh);
      return isRange ? Stream.of(node.getMembership().getField()) : Stream.empty();
    }
    boolean isEquality =
        node.getComparison().getOrder() == Order.EQUAL
            || node.getComparison().getOrder() == Order.NOT_EQUAL;
    return isEquality ? Stream.empty() : ParsedCondition.required(node);
  }

  /**
   * Returns the parsers that have the condition's fields with the same types as this parser; adds a
   * note if tuples of other parsers pass unchecked.
   */
  private List<String> requiredParsers(ConditionTree typed, ParserInfo parser) {
    List<FieldInfo> infos =
        ConditionTyper.fieldsOf(typed).map(name -> parser.field(name).orElseThrow()).toList();
    List<String> requiredParsers =
        fields.parsers().stream()
            .filter(owner -> infos.stream().allMatch(info -> hasField(owner, info)))
            .map(ParserInfo::name)
            .toList();
    if (requiredParsers.size() < fields.parsers().size() && !infos.isEmpty()) {
      String names = String.join(" and ", infos.stream().map(FieldInfo::name).toList());
      errors.note(
          "WHERE %s applies only to tuples of %s"
              .formatted(names, String.join(" and ", requiredParsers)));
    }
    return requiredParsers;
  }

  private static boolean hasField(ParserInfo parser, FieldInfo info) {
    return parser.field(info.name()).filter(own -> own.type() == info.type()).isPresent();
  }
}
