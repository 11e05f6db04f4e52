#include "serve_report.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof((tuned_error *)0)->message == sizeof((err *)0)->message, "same messages");
static_assert(sizeof((tuned_error *)0)->place == sizeof((err *)0)->place, "same places");
#define SAME_CODE(ours, theirs) static_assert((int)(ours) == (int)(theirs), "same codes")
SAME_CODE(ERR_USAGE, TUNED_E_USAGE);
SAME_CODE(ERR_DB, TUNED_E_DATABASE);
SAME_CODE(ERR_LAUNCH, TUNED_E_LAUNCH);
SAME_CODE(ERR_NOTFOUND, TUNED_E_NOTFOUND);
SAME_CODE(ERR_INTERRUPTED, TUNED_E_INTERRUPTED);

void serve_report_failure(tuned_error *to, const err *e) {
  strcpy(to->message, e->message);
  strcpy(to->place, e->place);
}
