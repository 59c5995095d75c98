package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.catalogue.ProcessorInfo;
import io.tapline.compiler.catalogue.ProcessorInfo.ArgumentInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Verifies that the reference documentation matches the compiler. */
class DocsTest {
  private static final Pattern BLOCK = Pattern.compile("```(\\w+)\n(.*?)```", Pattern.DOTALL);

  @Test
  void everyExampleCompiles() throws IOException {
    int examples = 0;
    for (String page : List.of("query-language.md", "conditions.md", "processors.md")) {
      for (String query : blocks(page, "tapline")) {
        assertThat(Fixtures.compile(query).errors()).as(query).isEmpty();
        examples++;
      }
    }
    assertThat(examples).isGreaterThan(8);
  }

  @Test
  void theDocumentedErrorsAreReported() throws IOException {
    String shown =
        blocks("query-language.md", "text").stream()
            .filter(b -> b.startsWith("query:"))
            .findFirst()
            .orElseThrow();
    String query = shown.lines().skip(1).findFirst().orElseThrow().strip();
    assertThat(Fixtures.errors(query)).isEqualTo(shown);
  }

  @Test
  void theDocumentedInventoryIsValid() throws IOException {
    List<List<String>> names =
        blocks("query-language.md", "yaml").stream()
            .map(yaml -> Inventory.fromYaml(yaml).names())
            .toList();
    assertThat(names).contains(List.of("branch", "h1", "h2", "web"));
  }

  /** The page may omit plugged-in aggregates, which describe themselves. */
  @Test
  void everyProcessorIsInTheReference() throws IOException {
    String page = page("processors.md");
    List<String> sections =
        page.lines()
            .filter(line -> line.startsWith("## ") && !line.equals("## Results"))
            .map(line -> line.substring("## ".length()))
            .toList();
    List<String> plugged = new ArrayList<>();
    for (ProcessorInfo processor : ProcessorCatalogue.all()) {
      if (sections.contains(processor.name())) {
        assertThat(page).as("section of %s", processor.name()).contains(section(processor));
      } else {
        plugged.add(processor.name().replace('-', '_'));
      }
    }
    assertThat(sections).hasSize(ProcessorCatalogue.all().size() - plugged.size());
    assertThat(Aggregates.all().stream().map(MergeableAggregate::name)).containsAll(plugged);
    assertThat(plugged).doesNotContain("sum", "avg", "max", "min", "count", "rate", "distinct");
  }

  @Test
  void everyAliasIsInTheReference() throws IOException {
    String page = page("query-language.md").toLowerCase(Locale.ROOT);
    assertThat(Catalogue.FIELD_ALIASES)
        .allSatisfy(
            (alias, field) -> assertThat(page).contains("`" + alias + "`", "`" + field + "`"));
    assertThat(Catalogue.PARSER_ALIASES)
        .allSatisfy(
            (alias, parser) -> assertThat(page).contains("`" + alias + "`", "`" + parser + "`"));
  }

  /** Returns a processor's heading, description and table of arguments, as required on the page. */
  private static String section(ProcessorInfo processor) {
    StringBuilder out = new StringBuilder();
    String description = processor.description();
    out.append("## ").append(processor.name()).append("\n\n");
    out.append(Character.toUpperCase(description.charAt(0)))
        .append(description.substring(1))
        .append(".\n\n");
    out.append("| Argument | Type | Values | Default | Meaning |\n|---|---|---|---|---|\n");
    for (ArgumentInfo a : processor.arguments()) {
      out.append(
          "| `%s` | %s | %s | %s | %s |\n"
              .formatted(a.name(), a.type().text, a.range(), a.defaultText(), a.description()));
    }
    return out.toString();
  }

  private static List<String> blocks(String page, String language) throws IOException {
    List<String> blocks = new ArrayList<>();
    Matcher matcher = BLOCK.matcher(page(page));
    while (matcher.find()) {
      if (matcher.group(1).equals(language)) {
        blocks.add(matcher.group(2));
      }
    }
    return blocks;
  }

  private static String page(String name) throws IOException {
    return Files.readString(Golden.path("docs/reference/" + name));
  }
}
