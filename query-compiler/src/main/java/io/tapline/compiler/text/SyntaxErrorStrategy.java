package io.tapline.compiler.text;

import io.tapline.compiler.text.grammar.TaplineQueryParser;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.antlr.v4.runtime.DefaultErrorStrategy;
import org.antlr.v4.runtime.FailedPredicateException;
import org.antlr.v4.runtime.InputMismatchException;
import org.antlr.v4.runtime.NoViableAltException;
import org.antlr.v4.runtime.Parser;
import org.antlr.v4.runtime.ParserRuleContext;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.misc.IntervalSet;

/**
 * Reports syntax errors in terms of the language and resumes at the next ',', ')' or clause that
 * fits. It neither inserts nor deletes single tokens, since both cause follow-up errors.
 */
final class SyntaxErrorStrategy extends DefaultErrorStrategy {
  private final Errors errors;

  /** Tokens that would also have been accepted at {@link #seenIndex}, by rules that ended there. */
  private final IntervalSet seen = new IntervalSet();

  private int seenIndex = -1;

  SyntaxErrorStrategy(Errors errors) {
    this.errors = errors;
  }

  @Override
  public void sync(Parser parser) {
    remember(parser);
    boolean betweenClauses = parser.getContext().getRuleIndex() == TaplineQueryParser.RULE_query;
    if (!betweenClauses) {
      super.sync(parser);
      return;
    }
    Token token = parser.getCurrentToken();
    if (token.getType() != Token.EOF && ClauseKind.ofTokenType(token.getType()) == null) {
      if (!inErrorRecoveryMode(parser)) {
        beginErrorCondition(parser);
        report(parser, token);
      }
      consumeUntil(parser, clauseStarts());
    }
  }

  private void remember(Parser parser) {
    int index = parser.getCurrentToken().getTokenIndex();
    if (index != seenIndex) {
      seen.clear();
      seenIndex = index;
    }
    seen.addAll(parser.getATN().nextTokens(parser.getATN().states.get(parser.getState())));
  }

  private static IntervalSet clauseStarts() {
    IntervalSet starts = new IntervalSet();
    for (ClauseKind kind : ClauseKind.values()) {
      starts.add(kind.tokenType);
    }
    return starts;
  }

  @Override
  public Token recoverInline(Parser parser) {
    throw new InputMismatchException(parser);
  }

  @Override
  protected Token singleTokenDeletion(Parser parser) {
    return null;
  }

  @Override
  protected void reportNoViableAlternative(Parser parser, NoViableAltException e) {
    report(parser, parser.getCurrentToken());
  }

  @Override
  protected void reportInputMismatch(Parser parser, InputMismatchException e) {
    report(parser, parser.getCurrentToken());
  }

  @Override
  protected void reportFailedPredicate(Parser parser, FailedPredicateException e) {
    report(parser, parser.getCurrentToken());
  }

  @Override
  protected void reportUnwantedToken(Parser parser) {
    if (!inErrorRecoveryMode(parser)) {
      beginErrorCondition(parser);
      report(parser, parser.getCurrentToken());
    }
  }

  private void report(Parser parser, Token token) {
    remember(parser);
    String expected =
        switch (token.getType()) {
          case TaplineQueryParser.UNCLOSED_STRING -> "'\"' on the same line";
          case TaplineQueryParser.UNCLOSED_COMMENT -> "'*/'";
          default -> expected(parser);
        };
    String suggestion = suggestion(parser, token);
    errors.add(Tokens.span(token), QueryError.Code.SYNTAX, found(token), expected, suggestion);
  }

  private static String found(Token token) {
    return switch (token.getType()) {
      case Token.EOF -> "the query is incomplete";
      case TaplineQueryParser.UNCLOSED_STRING -> "this quoted string has no end";
      case TaplineQueryParser.UNCLOSED_COMMENT -> "this comment has no end";
      case TaplineQueryParser.UNKNOWN -> "unexpected character " + Names.quoted(token.getText());
      default -> "unexpected " + Names.quoted(token.getText());
    };
  }

  private static String suggestion(Parser parser, Token token) {
    boolean isWord = token.getType() == TaplineQueryParser.WORD;
    boolean isOutside = parser.getContext().getRuleIndex() == TaplineQueryParser.RULE_query;
    return isWord && isOutside ? Names.nearest(token.getText(), ClauseKind.KEYWORDS) : "";
  }

  private String expected(Parser parser) {
    String phrase = phrase(parser.getContext().getRuleIndex());
    boolean startsItem =
        parser.getExpectedTokens().contains(TaplineQueryParser.WORD)
            || parser.getContext().getRuleIndex() == TaplineQueryParser.RULE_processor
                && parser.getExpectedTokens().contains(TaplineQueryParser.OPEN);
    if (phrase != null && startsItem && !seen.contains(Token.EPSILON)) {
      return phrase;
    }
    List<String> names = new ArrayList<>();
    for (int type : parser.getExpectedTokens().or(seen).toList()) {
      if (type > 0 && ClauseKind.ofTokenType(type) == null) {
        names.add(display(type));
      }
    }
    if (parser.getExpectedTokens().contains(Token.EOF) || betweenClauses(parser)) {
      Set<ClauseKind> kinds = laterClauses(parser.getContext());
      kinds.forEach(kind -> names.add(kind.keyword));
      if (kinds.isEmpty()) {
        names.add("the end of the query");
      }
    }
    return Names.either(names);
  }

  private static boolean betweenClauses(Parser parser) {
    return parser.getContext().getRuleIndex() == TaplineQueryParser.RULE_query;
  }

  /** Returns the clauses that may still follow, in order. */
  private static Set<ClauseKind> laterClauses(ParserRuleContext context) {
    Set<ClauseKind> kinds = EnumSet.allOf(ClauseKind.class);
    ParserRuleContext query = context;
    while (query.getParent() != null) {
      query = query.getParent();
    }
    for (ParserRuleContext clause : query.getRuleContexts(TaplineQueryParser.ClauseContext.class)) {
      ClauseKind kind = ClauseKind.ofTokenType(clause.getStart().getType());
      kinds.removeIf(candidate -> kind != null && candidate.ordinal() <= kind.ordinal());
    }
    return kinds;
  }

  private static String phrase(int rule) {
    return switch (rule) {
      case TaplineQueryParser.RULE_parserList,
          TaplineQueryParser.RULE_parserWithArguments,
          TaplineQueryParser.RULE_parserName ->
          "a parser's name";
      case TaplineQueryParser.RULE_parserArgument -> "a field's or an argument's name";
      case TaplineQueryParser.RULE_parserArgumentValue ->
          "an argument's value, or a form: " + Names.either(Forms.OF_TEXTS);
      case TaplineQueryParser.RULE_endpoint -> "an address: ip, ip/length, host or *";
      case TaplineQueryParser.RULE_prefixLength -> "a prefix length such as 24";
      case TaplineQueryParser.RULE_port -> "a port from 1 to 65535 or *";
      case TaplineQueryParser.RULE_queryName -> "the name of a query in the inventory";
      case TaplineQueryParser.RULE_queue, TaplineQueryParser.RULE_switchName ->
          "a queue: SWITCH:NEIGHBOUR or SWITCH:PORT-NUMBER";
      case TaplineQueryParser.RULE_switchPort -> "a neighbour of the switch or a port number";
      case TaplineQueryParser.RULE_network -> "a number or a name";
      case TaplineQueryParser.RULE_condition, TaplineQueryParser.RULE_conditionToken ->
          "a condition such as status >= 500";
      case TaplineQueryParser.RULE_limit -> Forms.LIMIT;
      case TaplineQueryParser.RULE_rate -> Forms.SAMPLE;
      case TaplineQueryParser.RULE_processor ->
          "a processor in parentheses, for example (top-k: k=10)";
      case TaplineQueryParser.RULE_processorName -> "a processor's name";
      case TaplineQueryParser.RULE_argumentName -> "an argument's name";
      case TaplineQueryParser.RULE_value, TaplineQueryParser.RULE_scalar -> "a value";
      default -> null;
    };
  }

  private static String display(int type) {
    String literal = TaplineQueryParser.VOCABULARY.getLiteralName(type);
    boolean isIpV6 = type == TaplineQueryParser.IPV6;
    return literal != null ? literal : isIpV6 ? "an IPv6 address" : "a word";
  }
}
