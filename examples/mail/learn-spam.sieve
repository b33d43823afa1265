# Dovecot runs this when a mail is moved into Junk. In 90-sieve.conf:
#
#   plugin {
#     sieve_plugins = sieve_imapsieve sieve_extprograms
#     sieve_pipe_bin_dir = /usr/local/lib/dovecot/sieve
#     sieve_global_extensions = +vnd.dovecot.pipe +vnd.dovecot.environment
#
#     imapsieve_mailbox1_name = Junk
#     imapsieve_mailbox1_causes = COPY APPEND
#     imapsieve_mailbox1_before = file:/usr/local/lib/dovecot/sieve/learn-spam.sieve
#
#     imapsieve_mailbox2_name = *
#     imapsieve_mailbox2_from = Junk
#     imapsieve_mailbox2_causes = COPY
#     imapsieve_mailbox2_before = file:/usr/local/lib/dovecot/sieve/learn-ham.sieve
#   }
#
# Compile both with sievec, and put stream-bayes-learn beside them.

require ["vnd.dovecot.pipe", "copy", "imapsieve"];

pipe :copy :try "stream-bayes-learn" ["spam"];
