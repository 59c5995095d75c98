package io.tapline.compiler.text;

import io.tapline.compiler.text.grammar.TaplineQueryParser;
import java.util.ArrayList;
import java.util.List;
import org.antlr.v4.runtime.ParserRuleContext;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.tree.TerminalNode;

/** Converts a parse tree to an {@link Ast}. Drops parts that syntax errors left incomplete. */
final class AstBuilder {
  private final List<Ast.Clause> clauses = new ArrayList<>();
  private final List<Token> tokens;
  private final Errors errors;
  private Ast.Word use;
  private List<Ast.Parser> parsers = List.of();
  private List<Ast.Address> from = List.of();
  private List<Ast.Address> to = List.of();
  private List<Ast.Queue> queues = List.of();
  private List<Ast.Word> vlans = List.of();
  private List<Ast.Word> tenants = List.of();
  private Ast.Condition where;
  private Ast.Word limit;
  private Ast.Word sample;
  private List<Ast.Processor> processors = List.of();

  private AstBuilder(List<Token> tokens, Errors errors) {
    this.tokens = tokens;
    this.errors = errors;
  }

  /**
   * Converts a parse tree. Reports repeated and misplaced clauses.
   *
   * @param tokens all tokens, including comments; the last one marks the end
   */
  static Ast.Query build(TaplineQueryParser.QueryContext tree, List<Token> tokens, Errors errors) {
    AstBuilder builder = new AstBuilder(tokens, errors);
    tree.clause().forEach(builder::clause);
    return new Ast.Query(
        List.copyOf(builder.clauses),
        builder.use,
        builder.parsers,
        builder.from,
        builder.to,
        builder.queues,
        builder.vlans,
        builder.tenants,
        builder.where,
        builder.limit,
        builder.sample,
        builder.processors,
        Tokens.span(tokens.get(tokens.size() - 1)));
  }

  private void clause(TaplineQueryParser.ClauseContext tree) {
    Token keyword = tree.getStart();
    ClauseKind kind = ClauseKind.ofTokenType(keyword.getType());
    if (kind == null || isRepeated(kind, keyword)) {
      return;
    }
    checkOrder(kind, keyword);
    Token last = tree.getStop() == null ? keyword : tree.getStop();
    int lastToken = Math.max(keyword.getTokenIndex(), last.getTokenIndex());
    clauses.add(new Ast.Clause(kind, Tokens.span(keyword), keyword.getTokenIndex(), lastToken));
    switch (kind) {
      case USE -> use = tree.queryName() == null ? null : firstWord(tree.queryName());
      case PARSE -> parsers = parsers(tree.parserList());
      case FROM -> from = addresses(tree.addressList());
      case TO -> to = addresses(tree.addressList());
      case AT -> queues = queues(tree.queueList());
      case VLAN -> vlans = networks(tree.networkList());
      case TENANT -> tenants = networks(tree.networkList());
      case WHERE -> where = condition(tree.condition());
      case LIMIT -> limit = tree.limit() == null ? null : firstWord(tree.limit());
      case SAMPLE -> sample = tree.rate() == null ? null : firstWord(tree.rate());
      case PROCESS -> processors = processors(tree.processorList());
    }
  }

  private boolean isRepeated(ClauseKind kind, Token keyword) {
    boolean repeated = clauses.stream().anyMatch(clause -> clause.kind() == kind);
    if (repeated) {
      String message = "%s is given twice".formatted(kind.keyword);
      String expected = "one %s clause; its lists are separated by ','".formatted(kind.keyword);
      errors.add(Tokens.span(keyword), QueryError.Code.CLAUSE, message, expected, "");
    }
    return repeated;
  }

  private void checkOrder(ClauseKind kind, Token keyword) {
    clauses.stream()
        .filter(clause -> clause.kind().ordinal() > kind.ordinal())
        .findFirst()
        .ifPresent(
            clause -> {
              String message =
                  "%s must come before %s".formatted(kind.keyword, clause.kind().keyword);
              String expected = "clauses in the order " + String.join(", ", ClauseKind.KEYWORDS);
              errors.add(Tokens.span(keyword), QueryError.Code.CLAUSE, message, expected, "");
            });
  }

  private static List<Ast.Parser> parsers(TaplineQueryParser.ParserListContext tree) {
    List<Ast.Parser> parsers = new ArrayList<>();
    if (tree != null) {
      for (TaplineQueryParser.ParserWithArgumentsContext one : tree.parserWithArguments()) {
        Ast.Word name = firstWord(one.parserName());
        if (name != null) {
          parsers.add(new Ast.Parser(name, parserArguments(one.parserArgument())));
        }
      }
    }
    return List.copyOf(parsers);
  }

  private static List<Ast.Argument> parserArguments(
      List<TaplineQueryParser.ParserArgumentContext> trees) {
    List<Ast.Argument> arguments = new ArrayList<>();
    for (TaplineQueryParser.ParserArgumentContext tree : trees) {
      Ast.Word name = firstWord(tree.argumentName());
      Ast.Word value = tree.exception == null ? firstWord(tree.parserArgumentValue()) : null;
      if (name != null && value != null) {
        arguments.add(new Ast.Argument(name, List.of(value), false));
      }
    }
    return List.copyOf(arguments);
  }

  private static List<Ast.Queue> queues(TaplineQueryParser.QueueListContext tree) {
    List<Ast.Queue> queues = new ArrayList<>();
    if (tree != null) {
      for (TaplineQueryParser.QueueContext one : tree.queue()) {
        Ast.Word switchName = firstWord(one.switchName());
        Ast.Word port = one.exception == null ? firstWord(one.switchPort()) : null;
        if (switchName != null && port != null) {
          Span span = Tokens.span(one.getStart(), one.getStop());
          queues.add(new Ast.Queue(switchName, port, span));
        }
      }
    }
    return List.copyOf(queues);
  }

  private static List<Ast.Word> networks(TaplineQueryParser.NetworkListContext tree) {
    return tree == null ? List.of() : words(tree.network());
  }

  private Ast.Condition condition(TaplineQueryParser.ConditionContext tree) {
    if (tree == null || tree.exception != null || tree.getStop() == null) {
      return null;
    }
    int first = tree.getStart().getTokenIndex();
    int last = tree.getStop().getTokenIndex();
    Token next = tokens.get(last + 1);
    while (next.getChannel() != Token.DEFAULT_CHANNEL) {
      next = tokens.get(next.getTokenIndex() + 1);
    }
    String text = Tokens.text(tokens.subList(first, last + 1));
    return new Ast.Condition(text, Tokens.span(tree.getStart()), Tokens.word(next));
  }

  private static List<Ast.Word> words(List<? extends ParserRuleContext> trees) {
    List<Ast.Word> words = new ArrayList<>();
    for (ParserRuleContext tree : trees) {
      Ast.Word word = firstWord(tree);
      if (word != null) {
        words.add(word);
      }
    }
    return List.copyOf(words);
  }

  /** Returns the first token of a rule; null if the rule is missing or has a syntax error. */
  private static Ast.Word firstWord(ParserRuleContext tree) {
    boolean isWhole =
        tree != null && tree.exception == null && tree.getChild(0) instanceof TerminalNode;
    return isWhole ? Tokens.word(tree.getStart()) : null;
  }

  private static List<Ast.Address> addresses(TaplineQueryParser.AddressListContext tree) {
    List<Ast.Address> addresses = new ArrayList<>();
    if (tree != null) {
      tree.address().stream()
          .filter(AstBuilder::isComplete)
          .forEach(one -> addresses.add(address(one)));
    }
    return List.copyOf(addresses);
  }

  private static boolean isComplete(TaplineQueryParser.AddressContext tree) {
    TaplineQueryParser.EndpointContext endpoint = tree.endpoint();
    return tree.exception == null
        && endpoint != null
        && endpoint.exception == null
        && (endpoint.prefixLength() == null || endpoint.prefixLength().exception == null)
        && (tree.port() == null || tree.port().exception == null);
  }

  private static Ast.Address address(TaplineQueryParser.AddressContext tree) {
    TaplineQueryParser.EndpointContext endpoint = tree.endpoint();
    boolean bracketed = endpoint.OPEN_BRACKET() != null;
    Token token = bracketed ? endpoint.IPV6().getSymbol() : endpoint.getStart();
    Ast.EndpointKind kind =
        endpoint.STAR() != null
            ? Ast.EndpointKind.ANY
            : endpoint.IPV6() != null ? Ast.EndpointKind.IPV6 : Ast.EndpointKind.WORD;
    return new Ast.Address(
        kind,
        Tokens.word(token),
        bracketed,
        firstWord(endpoint.prefixLength()),
        firstWord(tree.port()),
        Tokens.span(tree.getStart(), tree.getStop()));
  }

  private static List<Ast.Processor> processors(TaplineQueryParser.ProcessorListContext tree) {
    List<Ast.Processor> processors = new ArrayList<>();
    if (tree != null) {
      for (TaplineQueryParser.ProcessorContext one : tree.processor()) {
        Ast.Word name = firstWord(one.processorName());
        if (name != null) {
          processors.add(new Ast.Processor(name, arguments(one.argument())));
        }
      }
    }
    return List.copyOf(processors);
  }

  private static List<Ast.Argument> arguments(List<TaplineQueryParser.ArgumentContext> trees) {
    List<Ast.Argument> arguments = new ArrayList<>();
    for (TaplineQueryParser.ArgumentContext tree : trees) {
      Ast.Word name = firstWord(tree.argumentName());
      boolean isWhole =
          tree.exception == null && tree.value() != null && tree.value().exception == null;
      List<Ast.Word> values = isWhole ? scalars(tree.value().scalar()) : List.of();
      if (name != null && !values.isEmpty()) {
        arguments.add(new Ast.Argument(name, values, tree.value().OPEN() != null));
      }
    }
    return List.copyOf(arguments);
  }

  /** Joins each word with the prefix lengths after it, as in {@code src_ip/24}. */
  private static List<Ast.Word> scalars(List<TaplineQueryParser.ScalarContext> trees) {
    List<Ast.Word> words = new ArrayList<>();
    for (TaplineQueryParser.ScalarContext tree : trees) {
      Ast.Word first = firstWord(tree);
      boolean isWhole =
          first != null
              && tree.prefixLength().stream().allMatch(length -> length.exception == null);
      if (isWhole && tree.prefixLength().isEmpty()) {
        words.add(first);
      } else if (isWhole) {
        String text = tree.getText();
        words.add(new Ast.Word(text, text, Tokens.span(tree.getStart(), tree.getStop())));
      }
    }
    return List.copyOf(words);
  }
}
