#include "metrics/metric_table.h"

#include <gtest/gtest.h>
#include <prometheus/check_names.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/error.h"
#include "core/trace.h"
#include "metrics/golden_file.h"

namespace tessera::metrics {
namespace {

TEST(MetricTable, HasOneRowForEachIdInOrder) {
  ASSERT_EQ(metric_table().size(), kMetricCount);
  for (std::size_t i = 0; i < kMetricCount; ++i) {
    EXPECT_EQ(static_cast<std::size_t>(metric_table()[i].id), i);
  }
}

TEST(MetricTable, NamesAreUniqueAndValid) {
  std::set<std::string_view> names;
  for (const MetricDefinition& metric : metric_table()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(prometheus::CheckMetricName(std::string(metric.name))) << metric.name;
    EXPECT_TRUE(metric.name.starts_with("tessera_")) << metric.name;
    EXPECT_FALSE(metric.help.empty()) << metric.name;
  }
}

TEST(MetricTable, OnlyCountersEndInTotal) {
  for (const MetricDefinition& metric : metric_table()) {
    EXPECT_EQ(metric.name.ends_with("_total"), metric.type == MetricType::kCounter) << metric.name;
  }
}

TEST(MetricTable, DurationsAreInSeconds) {
  for (const MetricDefinition& metric : metric_table()) {
    const bool says_so =
        metric.name.ends_with("_seconds") || metric.name.ends_with("_seconds_total");
    EXPECT_EQ(says_so, metric.unit == "seconds") << metric.name;
  }
}

TEST(MetricTable, OnlyHistogramsHaveBucketsAndTheyAscend) {
  for (const MetricDefinition& metric : metric_table()) {
    EXPECT_EQ(metric.buckets.empty(), metric.type != MetricType::kHistogram) << metric.name;
    EXPECT_TRUE(std::ranges::is_sorted(metric.buckets, std::less_equal<>{})) << metric.name;
  }
}

TEST(MetricTable, LabelsSayWhatTheyCanHold) {
  for (const MetricDefinition& metric : metric_table()) {
    for (const LabelDefinition& label : metric.labels) {
      EXPECT_TRUE(prometheus::CheckLabelName(std::string(label.name)));
      EXPECT_NE(label.values.empty(), label.note.empty()) << metric.name << " " << label.name;
    }
  }
}

TEST(MetricTable, StageLabelCoversEveryStage) {
  const auto& labels = definition(MetricId::kStageSeconds).labels;

  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].values.size(), kStageCount);
}

TEST(MetricTable, OutcomeIsOkOrTheNameOfAnErrorCode) {
  ASSERT_EQ(outcome_values().size(), static_cast<std::size_t>(kErrorCodeCount) + 1);
  EXPECT_EQ(outcome_values().front(), "ok");
  EXPECT_EQ(outcome_values().back(), "internal");
}

TEST(MetricTable, IsPrintedInTheDocuments) {
  test_support::expect_matches_file(metrics_markdown(), "docs/metrics.md");
}

}  // namespace
}  // namespace tessera::metrics
