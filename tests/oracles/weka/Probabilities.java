import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.stream.Collectors;
import weka.classifiers.Classifier;
import weka.classifiers.UpdateableClassifier;
import weka.core.Instance;
import weka.core.Instances;

/**
 * Test, then train: prints what a classifier of WEKA says of each event before it learns that event.
 *
 * <pre>java Probabilities weka.classifiers.bayes.AODE -F 30 &lt; stream.txt</pre>
 *
 * A line for each event: the probabilities of the classes. A classifier that cannot be updated is built anew
 * of all events before each one; its line is empty as long as there are none.
 */
final class Probabilities {
    private Probabilities() {}

    public static void main(String[] arguments) throws Exception {
        Instances stream = CodedStream.read(new BufferedReader(new InputStreamReader(System.in)));
        String[] options = Arrays.copyOfRange(arguments, 1, arguments.length);
        Classifier model = Classifier.forName(arguments[0], options);
        boolean grows = model instanceof UpdateableClassifier;
        Instances seen = new Instances(stream, 0);
        if (grows) {
            model.buildClassifier(seen);
        }
        for (int row = 0; row < stream.numInstances(); row++) {
            Instance event = stream.instance(row);
            System.out.println(grows || seen.numInstances() > 0 ? said(model, event) : "");
            seen.add(event);
            if (grows) {
                ((UpdateableClassifier) model).updateClassifier(event);
            } else {
                model.buildClassifier(seen);
            }
        }
    }

    /** The probabilities of an event whose label is hidden. */
    static String said(Classifier model, Instance event) throws Exception {
        Instance asked = new Instance(event);
        asked.setDataset(event.dataset());
        asked.setClassMissing();
        return Arrays.stream(model.distributionForInstance(asked))
                .mapToObj(Double::toString)
                .collect(Collectors.joining(","));
    }
}
