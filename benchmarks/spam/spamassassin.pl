# SpamAssassin's Bayes alone, for benchmarks/spam/filters.py: perl spamassassin.pl DIRECTORY
#
# On the standard input, for each message, a line of a verb (judge, ham or spam) and a number of bytes, then these bytes.
# On the standard output, a line for each: the probability of spam, or "none"; "learned" or "not learned". The verb
# "seconds" is answered with the processor time so far.

use strict;
use warnings;
use Mail::SpamAssassin;
use Mail::SpamAssassin::PerMsgStatus;

my $directory = shift;
binmode STDIN;
$| = 1;
my $filter = Mail::SpamAssassin->new({
    dont_copy_prefs  => 1,
    local_tests_only => 1,
    userstate_dir    => $directory,
    post_config_text => join("\n", (
        "bayes_path $directory/bayes",
        "use_bayes 1",
        "bayes_auto_learn 0",
        "bayes_auto_expire 0",
        "bayes_learn_to_journal 0",
        "lock_method flock",
        "")),
});
$filter->init(1);
my $bayes = $filter->call_plugins('learner_get_implementation') or die "SpamAssassin has no Bayes here\n";

while (my $line = <STDIN>) {
    my ($verb, $size) = split ' ', $line;
    my $raw = '';
    read(STDIN, $raw, $size) == $size or die "the message was cut off\n" if $size;
    if ($verb eq 'seconds') {
        my ($user, $system) = times;
        printf "%.3f\n", $user + $system;
        next;
    }
    my $message = $filter->parse(\$raw, 0);
    if ($verb eq 'judge') {
        my $status = Mail::SpamAssassin::PerMsgStatus->new($filter, $message);
        my $found = $bayes->scan($status, $message);
        printf "%s\n", defined $found ? sprintf('%.17g', $found) : 'none';
        $status->finish;
    } else {
        my $learned = $filter->learn($message, undef, $verb eq 'spam', 0);
        printf "%s\n", $learned->did_learn ? 'learned' : 'not learned';
        $learned->finish;
    }
    $message->finish;
}
