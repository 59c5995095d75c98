package io.tapline.control.cli.console;

import io.tapline.compiler.text.ReadableText;
import java.util.List;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.plugins.Plugin;
import org.apache.logging.log4j.core.layout.PatternLayout;
import org.apache.logging.log4j.core.pattern.ConverterKeys;
import org.apache.logging.log4j.core.pattern.LogEventPatternConverter;
import org.apache.logging.log4j.core.pattern.PatternConverter;
import org.apache.logging.log4j.core.pattern.PatternFormatter;

/**
 * {@code %readable{PATTERN}} in Log4j's layouts: formats the pattern as {@link ReadableText}.
 * {@code %readable{PATTERN}{lines}} keeps its line feeds.
 */
@Plugin(name = "ReadableLog", category = PatternConverter.CATEGORY)
@ConverterKeys("readable")
public final class ReadableLog extends LogEventPatternConverter {
  private final List<PatternFormatter> pattern;
  private final boolean lines;

  private ReadableLog(List<PatternFormatter> pattern, boolean lines) {
    super("readable", "readable");
    this.pattern = pattern;
    this.lines = lines;
  }

  /** Creates a converter. Log4j calls this with the contents of the braces. */
  public static ReadableLog newInstance(Configuration configuration, String[] options) {
    return new ReadableLog(
        PatternLayout.createPatternParser(configuration).parse(options[0]), options.length > 1);
  }

  @Override
  public void format(LogEvent event, StringBuilder line) {
    StringBuilder text = new StringBuilder();
    pattern.forEach(part -> part.format(event, text));
    line.append(lines ? ReadableText.ofLines(text.toString()) : ReadableText.of(text.toString()));
  }

  @Override
  public boolean handlesThrowable() {
    return pattern.stream().anyMatch(PatternFormatter::handlesThrowable);
  }
}
