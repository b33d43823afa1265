import java.io.BufferedReader;
import java.io.IOException;
import weka.core.Attribute;
import weka.core.FastVector;
import weka.core.Instance;
import weka.core.Instances;

/**
 * Events that are codes already, read from text as WEKA's instances.
 *
 * <pre>
 * 3                  how many classes were declared
 * 2,4,3              how many values each feature was declared with
 * 1.0,2,0,,1         an event: weight, label, and a code for each feature, or nothing where it is missing
 * </pre>
 *
 * The stream ends with an empty line or with the text. The class comes last among WEKA's attributes.
 */
final class CodedStream {
    private CodedStream() {}

    static Instances read(BufferedReader text) throws IOException {
        String classes = text.readLine();
        String[] values = text.readLine().split(",");
        FastVector attributes = new FastVector();
        for (int feature = 0; feature < values.length; feature++) {
            attributes.addElement(nominal("f" + feature, Integer.parseInt(values[feature])));
        }
        attributes.addElement(nominal("class", Integer.parseInt(classes)));
        Instances stream = new Instances("stream", attributes, 0);
        stream.setClassIndex(values.length);
        for (String line = text.readLine(); line != null && !line.isEmpty(); line = text.readLine()) {
            stream.add(event(line.split(",", -1)));
        }
        return stream;
    }

    private static Attribute nominal(String name, int size) {
        FastVector values = new FastVector();
        for (int value = 0; value < size; value++) {
            values.addElement("v" + value);
        }
        return new Attribute(name, values);
    }

    private static Instance event(String[] fields) {
        int features = fields.length - 2;
        double[] codes = new double[features + 1];
        for (int feature = 0; feature < features; feature++) {
            String code = fields[feature + 2];
            codes[feature] = code.isEmpty() ? Instance.missingValue() : Integer.parseInt(code);
        }
        codes[features] = Integer.parseInt(fields[1]);
        return new Instance(Double.parseDouble(fields[0]), codes);
    }
}
