# embed_steps.awk -- schema.sql as C: one string per step, the text before the first left out.
BEGIN { print "static const char *const steps[] = {" }
/^-- step / {
  if (n++) print ","
  next
}
n {
  gsub(/\\/, "&&")
  gsub(/"/, "\\\"")
  print "  \"" $0 "\\n\""
}
END { print "};" }
