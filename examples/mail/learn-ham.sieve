# Dovecot runs this when a mail is moved out of Junk; see learn-spam.sieve. A mail moved to Trash says nothing.

require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];

if environment :matches "imap.mailbox" "*" {
  set "mailbox" "${1}";
}

if string "${mailbox}" "Trash" {
  stop;
}

pipe :copy :try "stream-bayes-learn" ["ham"];
