/* config_words.h -- configurations in readable form. */
#ifndef PRINT_CONFIG_WORDS_H
#define PRINT_CONFIG_WORDS_H

#include "device.h"
#include "gen.h"

/* config_words -- append gen_config_words of a stored configuration, or its text unchanged when the
 * template no longer accepts it */
void config_words(gen_template *t, const rt_info *device, const char *problem, const char *config,
                  str *out);

#endif
