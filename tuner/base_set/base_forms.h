/* base_forms.h -- the texts of a base set: of each family, and for every combination of the choices
 * that its typed call takes, those of its base configurations. */
#ifndef BASE_FORMS_H
#define BASE_FORMS_H

#include "device.h"
#include "gen.h"

typedef struct base_form {
  const char *text;
  size_t body; /* where the hashed text begins */
  char hash[HASH_TEXT];
} base_form;

typedef struct base_forms {
  base_form *list; /* each text once */
  size_t n, most;
  arena memory;
} base_forms;

/* base_forms_limits -- two sets of limits for this compute capability: of the emulated card nearest
 * below it, and the least of all emulated cards since 8.0 */
enum { BASE_LIMITS = 2 };
int base_forms_limits(int cc, rt_info limits[BASE_LIMITS], err *e);

/* base_forms_add -- those of a template for devices of this architecture. A configuration is written
 * for the default sizes; where it is not valid for them, for the first of the template's sizes for
 * which it is. Configurations that follow one whose single text serves all sizes under both limits are
 * left out.
 *   err  ERR_TEMPLATE  a text cannot be made */
int base_forms_add(base_forms *f, gen_template *t, const rt_info limits[BASE_LIMITS], err *e);
void base_forms_clear(base_forms *f);

#endif
