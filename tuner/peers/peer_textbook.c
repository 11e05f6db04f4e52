/* peer_textbook.c -- the template's own kernel as a textbook prints it: the key `textbook`. */
#include "peer.h"

const peer_kind peer_textbook = {.name = "textbook",
                                 .brief = "the configuration that a textbook prints",
                                 .config = gen_config_textbook};
