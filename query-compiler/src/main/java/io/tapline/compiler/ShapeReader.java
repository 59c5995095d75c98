package io.tapline.compiler;

import io.tapline.compiler.access.TextPolicy;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Forms;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Shape;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Reads the forms of a parser's strings in PARSE: {@code http_get(url=template, host=hash)}. Other
 * entries are arguments, which {@link ParserArgumentReader} reads.
 */
final class ShapeReader {
  private ShapeReader() {}

  /**
   * Returns the forms that the query requests, then those that the policy requires and the query
   * does not mention. For unknown parsers, checks only whether the forms are valid.
   */
  static List<Shape> read(
      List<Ast.Parser> parsers, Catalogue catalogue, TextPolicy policy, Errors errors) {
    List<Shape> shapes = new ArrayList<>();
    Set<ParserInfo> known = new LinkedHashSet<>();
    Set<String> shaped = new HashSet<>();
    for (Ast.Parser writtenParser : parsers) {
      Optional<ParserInfo> parser = catalogue.parser(writtenParser.name().text());
      parser.ifPresentOrElse(known::add, () -> checkForms(writtenParser, errors));
      for (Ast.Argument argument :
          parser.map(info -> forms(writtenParser, info)).orElse(List.of())) {
        Optional<Shape> shape = shape(parser.get(), argument, policy, errors);
        if (shape.isPresent() && !shaped.add(key(shape.get()))) {
          twoForms(argument, shape.get().getField(), errors);
        }
        shape.ifPresent(shapes::add);
      }
    }
    for (Shape owed : owed(known, policy)) {
      if (shaped.add(key(owed))) {
        shapes.add(owed);
        errors.note(
            "%s of %s leaves the monitor as %s, as the inventory's section \"texts\" requires"
                .formatted(owed.getField(), owed.getParser(), name(owed.getForm())));
      }
    }
    return shapes;
  }

  /** Checks everything that does not depend on the parser's fields. */
  static void checkForms(Ast.Parser parser, Errors errors) {
    Set<String> shaped = new HashSet<>();
    for (Ast.Argument argument : parser.arguments()) {
      if (isNearlyForm(argument)) {
        isForm(argument, errors);
      }
      if (!shaped.add(Names.normal(argument.name().text()))) {
        twoForms(argument, argument.name().text(), errors);
      }
    }
  }

  private static List<Ast.Argument> forms(Ast.Parser writtenParser, ParserInfo parser) {
    return writtenParser.arguments().stream()
        .filter(argument -> parser.argument(argument.name().text()).isEmpty())
        .toList();
  }

  /**
   * Returns true if the value resembles a form. Any other value may belong to an argument, since
   * the parser is unknown.
   */
  private static boolean isNearlyForm(Ast.Argument argument) {
    return !Names.nearest(argument.values().get(0).text(), Forms.OF_TEXTS).isEmpty();
  }

  private static boolean isForm(Ast.Argument argument, Errors errors) {
    Ast.Word form = argument.values().get(0);
    boolean is = Forms.OF_TEXTS.contains(Names.lower(form.text()));
    if (!is) {
      errors.unknown(form, "form", Forms.OF_TEXTS);
    }
    return is;
  }

  private static void twoForms(Ast.Argument argument, String field, Errors errors) {
    String message = "%s is given two forms".formatted(field);
    errors.add(argument.name().span(), QueryError.Code.CONFLICT, message, "one", "");
  }

  private static String key(Shape shape) {
    return shape.getParser() + "." + shape.getField();
  }

  private static String name(Shape.Form form) {
    return Names.lower(form.name());
  }

  /** Returns the forms that the policy prescribes for strings of these parsers. */
  private static List<Shape> owed(Set<ParserInfo> parsers, TextPolicy policy) {
    List<Shape> owed = new ArrayList<>();
    for (ParserInfo parser : parsers) {
      for (FieldInfo text : parser.fields().stream().filter(FieldInfo::isText).toList()) {
        policy.forms(parser, text).ifPresent(forms -> owed.add(shape(parser, text, forms.get(0))));
      }
    }
    return owed;
  }

  private static Shape shape(ParserInfo parser, FieldInfo text, Shape.Form form) {
    return Shape.newBuilder().setParser(parser.name()).setField(text.name()).setForm(form).build();
  }

  private static Optional<Shape> shape(
      ParserInfo parser, Ast.Argument argument, TextPolicy policy, Errors errors) {
    Ast.Word name = argument.name();
    Ast.Word form = argument.values().get(0);
    Optional<FieldInfo> field = Catalogue.field(parser, name.text());
    List<String> texts =
        parser.fields().stream().filter(FieldInfo::isText).map(FieldInfo::name).toList();
    String expected = texts.isEmpty() ? "no form: it has no string fields" : Names.list(texts);
    if (field.isEmpty()) {
      unknown(parser, name, texts, errors);
      return Optional.empty();
    } else if (!field.get().isText()) {
      String message = "%s of %s is not a string".formatted(field.get().name(), parser.name());
      errors.type(name.span(), message, expected);
    }
    if (!isForm(argument, errors) || field.filter(FieldInfo::isText).isEmpty()) {
      return Optional.empty();
    }
    Shape shape =
        shape(parser, field.get(), Shape.Form.valueOf(form.text().toUpperCase(Locale.ROOT)));
    policy
        .forms(parser, field.get())
        .ifPresent(forms -> requireAllowed(form, shape, forms, errors));
    return Optional.of(shape);
  }

  private static void unknown(ParserInfo parser, Ast.Word name, List<String> texts, Errors errors) {
    List<String> valid = new ArrayList<>(texts);
    parser.arguments().forEach(argument -> valid.add(argument.name()));
    String kinds = parser.arguments().isEmpty() ? "field of " : "field or argument of ";
    String expected = valid.isEmpty() ? "no form: it has no string fields" : Names.list(valid);
    errors.unknown(name, kinds + parser.name(), expected, valid);
  }

  private static void requireAllowed(
      Ast.Word writtenWord, Shape shape, List<Shape.Form> allowed, Errors errors) {
    if (allowed.contains(shape.getForm()) || shape.getForm() == Shape.Form.OMIT) {
      return;
    }
    Set<String> names = new LinkedHashSet<>(allowed.stream().map(ShapeReader::name).toList());
    names.add(name(Shape.Form.OMIT));
    String message =
        "%s of %s may not leave the monitor as %s"
            .formatted(shape.getField(), shape.getParser(), name(shape.getForm()));
    String expected =
        Names.either(List.copyOf(names)) + ", as the inventory's section \"texts\" says";
    errors.add(writtenWord.span(), QueryError.Code.FORBIDDEN, message, expected, "");
  }
}
