import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import weka.classifiers.bayes.BayesNet;
import weka.classifiers.bayes.net.ParentSet;
import weka.classifiers.bayes.net.estimate.SimpleEstimator;
import weka.classifiers.bayes.net.search.local.LocalScoreSearchAlgorithm;
import weka.classifiers.bayes.net.search.local.Scoreable;
import weka.classifiers.bayes.net.search.local.TAN;
import weka.core.Instances;
import weka.core.SelectedTag;

/**
 * Learns a whole stream with WEKA's TAN, and prints the tree and what it says of each event.
 *
 * <pre>java Tree ALPHA &lt; stream.txt</pre>
 *
 * First a line with the parent of each feature, -1 for the root; then the probabilities of the classes, a line for
 * each event. Edges are weighed by the gain in log-likelihood, which is the number of events times the conditional
 * mutual information; ALPHA is added to each cell of a table.
 */
final class Tree {
    private Tree() {}

    public static void main(String[] arguments) throws Exception {
        Instances stream = CodedStream.read(new BufferedReader(new InputStreamReader(System.in)));
        TAN search = new TAN();
        search.setScoreType(new SelectedTag(Scoreable.ENTROPY, LocalScoreSearchAlgorithm.TAGS_SCORE_TYPE));
        SimpleEstimator estimator = new SimpleEstimator();
        estimator.setAlpha(Double.parseDouble(arguments[0]));
        BayesNet net = new BayesNet();
        net.setSearchAlgorithm(search);
        net.setEstimator(estimator);
        net.buildClassifier(stream);
        List<String> parents = new ArrayList<>();
        for (int feature = 0; feature < stream.classIndex(); feature++) {
            parents.add(Integer.toString(parent(net.getParentSet(feature), stream.classIndex())));
        }
        System.out.println(String.join(",", parents));
        for (int row = 0; row < stream.numInstances(); row++) {
            System.out.println(Probabilities.said(net, stream.instance(row)));
        }
    }

    private static int parent(ParentSet parents, int classIndex) {
        for (int place = 0; place < parents.getNrOfParents(); place++) {
            if (parents.getParent(place) != classIndex) {
                return parents.getParent(place);
            }
        }
        return -1;
    }
}
